"""Gathers the candidates of one recall: memories near the query and memories with its words, read in one run."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from app.domain.audit import RecallNote
from app.domain.errors import DatabaseRejected, DatabaseUnavailable, LongTermDisabled
from app.domain.memory import Scope
from app.domain.query import Query
from app.ports.database import Row
from app.ports.vector_index import Hits
from app.retrieval import selection
from app.retrieval.channels import vector
from app.retrieval.pool import Candidate, Pool, ScopeStats
from app.retrieval.query.analysis import Analysis, PendingAnalysis
from app.retrieval.query.parsing import ParsedQuery, embedded_texts, parse
from app.retrieval.query.sentences import QuerySentences
from app.services.memories.vector_search import Outage, VectorSearch
from app.services.tenant import speakers
from app.services.tenant.backends import EmbeddingConfigChanged, TenantBackends
from app.storage import request_state
from app.storage.candidates import CandidateQuery, find_candidates, read_candidates
from app.storage.outbox import Had, QueuedVectors, pending, read_pending
from app.storage.postings import KeptPostings
from app.storage.scoped import ScopedStatement
from app.storage.topics import topics
from app.storage.words_search import words_of

ANALYSIS_UNAVAILABLE: Final = "analysis_unavailable"
"""In ``degraded``: a model's analysis of the query, or the hits of its statement, did not come in time."""
_USUAL_TOP_K = 20
"""A query for more entries chooses from twice as many candidates."""
_LIKELY = 50
"""Candidates whose content is read, with their neighbours in sessions. A lower number loses evidence (ADR 0038)."""
_MAX_WIDTH = 16
"""The largest factor for the usual number of candidates, where other candidates took the places of entries."""
_WIDTH_FOR_GROUPS = 4
"""The same where only groups lack: there may be few sessions, however many candidates are read."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of a query, and how they were gathered."""

    pool: Pool
    parsed: ParsedQuery
    vectors: VectorSearch
    outages: Sequence[Outage]
    """The parts that did not answer, the index of words among them."""
    degraded: Sequence[str]
    topics: Sequence[str]
    """The scope's topics, where a model analyses the query."""
    agent_known: bool
    """Whether anything was ever stored for the agent, or it was set."""


@dataclass(frozen=True, slots=True)
class _ReadCandidates:
    """The candidates that one run of the database has read."""

    candidates: Sequence[Candidate]
    stats: ScopeStats
    pending: QueuedVectors
    """The vectors queued for the index that are compared."""
    has_more_pending: bool
    topics: Sequence[str]
    wanted: CandidateQuery
    has_all_words: bool
    """Whether the index of words was searched, and has all memories."""
    agent_known: bool

    @property
    def readable(self) -> Sequence[Candidate]:
        """The candidates that may be entries."""
        return [candidate for candidate in self.candidates if candidate.whole]


class CandidateGatherer:
    """Gathers the candidates of one query of one tenant."""

    def __init__(
        self,
        backends: TenantBackends,
        scope: Scope,
        query: Query,
        *,
        also: str | None = None,
        analysing: PendingAnalysis | None = None,
        note: RecallNote | None = None,
    ) -> None:
        """Bind the query.

        The scope's memory ``also`` is a candidate in any case. ``analysing`` goes on while the query is embedded.
        ``note`` counts the embedded characters and the queries of the index.
        """
        self._backends = backends
        self._scope = scope
        self._query = query
        self._sentences = QuerySentences(query.text)
        self._also = also
        self._analysing = analysing
        self._hypothetical: VectorSearch | None = None
        """The search that has looked for the statement of the analysis."""
        self._degraded: Sequence[str] = ()
        self._note = note

    async def gather(self) -> Gathered:
        """Gather the candidates, and gather them again where the embedded query has the name of a speaker of theirs.

        Raises:
            EmbeddingConfigChanged: another config is in use.
            EmbeddingConfigMismatch: this process cannot embed with the config.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer.
        """
        cache = self._backends.data.caches.speakers
        changes = cache.changes
        embedded = embedded_texts(self._query, self._sentences, cache.find(self._scope) or ())
        gathered = await self._gather(embedded)
        if not (names := gathered.pool.first_names):
            return gathered
        speakers.remember(cache, self._scope, names, since=changes)
        again = embedded_texts(self._query, self._sentences, cache.find(self._scope) or ())
        if again != embedded and gathered.vectors.outage is None:
            gathered = await self._gather(again)
        return gathered

    async def _gather(self, embedded: Sequence[str]) -> Gathered:
        """Gather the candidates. The first of ``embedded`` is the query; the others are questions asked apart.

        More candidates are gathered where some took the places of entries: vectors whose memory is gone, memories of
        one content or session, memories that hold no longer, or rows of a program.
        """
        query, active = self._query, self._backends.data.configs.active
        vectors = VectorSearch(self._backends, active, self._scope, query.where, self._note)
        if self._note is not None:
            self._note.config = active.label
        width, crowded = 1 if query.top_k <= _USUAL_TOP_K else 2, False
        analysis = await self._begin(vectors, embedded, width * vector.DEPTH)
        now, hits, further = self._backends.clock(), vectors.hits.hits, vectors.hypothetical.hits.hits
        parsed = parse(query, self._sentences, analysis, now, hits, further)
        while True:
            read = await self._read(parsed, vectors, width, crowded=crowded)
            settled = await vectors.settle(width * vector.DEPTH)
            if not settled or not (vectors.hits.filtered or read.wanted.fill):
                continue  # the run did not ask the index, or the hits are not filtered and no newest memories were read
            if query.collapse:
                await selection.fold(read.readable)
            crowded = selection.is_crowded(vectors.hits, read.candidates, query)
            if self._is_enough(read, vectors.hits, width, crowded=crowded):
                break
            width = min(4 * width, _MAX_WIDTH)
            await vectors.ask(width * vector.DEPTH)
        words = [] if read.has_all_words else [_words_away()]
        bound = ["pending_bound"] if read.has_more_pending else []
        degraded = [*self._degraded, *(outage.part for outage in words), *bound]
        pool = self._pool(read, vectors)
        return Gathered(pool, parsed, vectors, [*vectors.outages, *words], degraded, read.topics, read.agent_known)

    async def _begin(self, vectors: VectorSearch, embedded: Sequence[str], depth: int) -> Analysis:
        """Ask the index for vectors near the query, and for vectors near the statement of the query's analysis.

        Without an analysis the run that reads candidates may ask the index. With one the index is asked while the
        analysis is under way. An analysis that comes too late, or not at all, is left out.
        """
        await vectors.embed(embedded[0], embedded[1:])
        await vectors.ask(depth, within=self._analysing is None)
        if self._analysing is None:
            return Analysis()
        analysis = await self._analysing.analysis
        if self._hypothetical is not None:
            vectors.hypothetical = self._hypothetical.hypothetical
        elif analysis is None:
            self._degraded = [ANALYSIS_UNAVAILABLE]
        elif analysis.statement:
            try:
                async with asyncio.timeout_at(self._analysing.ends):
                    await vectors.ask_hypothetical(analysis.statement, depth)
            except TimeoutError:
                self._degraded = [ANALYSIS_UNAVAILABLE]
            self._hypothetical = vectors
        return analysis or Analysis()

    async def _read(
        self, parsed: ParsedQuery, vectors: VectorSearch, width: int, *, crowded: bool, had: Had | None = None
    ) -> _ReadCandidates:
        """Read the candidates, with the hits of the index, and the queued vectors that the index may not show yet.

        ``had`` are the queued vectors that need not be read again; None: those that this process has. Of these, only
        the nearest are candidates. Raises as ``gather`` does.
        """
        # The index is asked first: a vector that the indexer confirms meanwhile is then in the hits, and is not missed.
        parsed = parsed.with_hits(vectors.hits.hits)
        fill = 0 if vectors.hits.filtered and not crowded else self._query.most_entries
        near = None
        if had is None:
            queued_here = vectors.pending
            had = queued_here.had
            near = vectors.near(queued_here, width * vector.DEPTH)
        wanted = self._wanted(parsed, vectors.config.index_name, width, fill, near, had)
        run, caches = self._backends.data.database.run, self._backends.data.caches
        kept = caches.kept_postings(self._scope, words_of(wanted.sections))
        try:
            (state,), queued, rows, *known = await run(self._statements(wanted, vectors, had, kept))
            caches.keep_postings(self._scope, kept)
        except DatabaseRejected as error:
            structlog.get_logger().error("lexical_away", code=error.code, reason=error.detail)
            wanted = replace(wanted, search_words=False)
            (state,), queued, rows, *known = await run(self._statements(wanted, vectors, had, kept))
        self._check(state, vectors)
        listed = read_pending(queued)
        compared = vectors.take(listed, had)
        instead = compared if isinstance(compared, Had) else vectors.crowded_out(wanted.near, listed, had)
        if isinstance(compared, Had) or instead is not None:
            return await self._read(parsed, vectors, width, crowded=crowded, had=instead)
        fields, stats = read_candidates(rows)
        return _ReadCandidates(
            [*map(Candidate.of, fields)],
            ScopeStats(**stats),
            compared,
            listed.has_more,
            topics=[str(row["topic"]) for row in known[0]] if known else [],
            wanted=wanted,
            has_all_words=wanted.search_words and not state["words_missing"],
            agent_known=bool(state["known"]),
        )

    def _check(self, state: Row, vectors: VectorSearch) -> None:
        """Take the request state that was read.

        Raises:
            LongTermDisabled: the agent's memory is off.
            EmbeddingConfigChanged: the query has the vector of another config than the database's.
        """
        seen = self._backends.data.observe(state)
        if state["disabled"]:
            raise LongTermDisabled
        if seen is not None and seen.active != vectors.config:
            raise EmbeddingConfigChanged

    def _wanted(
        self, parsed: ParsedQuery, index_name: str, width: int, fill: int, near: Sequence[str] | None, had: Had
    ) -> CandidateQuery:
        query, cues = self._query, parsed.cues
        return CandidateQuery(
            sections={
                channel.section: channel.candidates(parsed) if channel.cue in cues else []
                for channel in self._backends.channels
                if channel.section
            },
            index_name=index_name,
            near=near,
            had=Had() if near is None else had,
            where=query.where,
            fill=fill,
            also=self._also,
            index_depth=vector.DEPTH,
            width=width,
            likely=max(_LIKELY * width, 2 * query.most_entries),
            for_model=query.for_model,
            as_of=query.as_of,
            for_answer=query.for_answer,
        )

    def _statements(
        self, wanted: CandidateQuery, vectors: VectorSearch, had: Had, kept: KeptPostings
    ) -> list[ScopedStatement]:
        """Return the statements that read the state, the queued vectors, the candidates, and for a model the topics."""
        return [
            request_state.read_for_recall(self._scope),
            pending(self._scope, wanted.where, wanted.index_name, had, for_model=wanted.for_model),
            find_candidates(self._scope, wanted, vectors.awaited, kept),
            *([] if self._analysing is None else [topics(self._scope)]),
        ]

    def _is_enough(self, read: _ReadCandidates, hits: Hits, width: int, *, crowded: bool) -> bool:
        """Tell whether these candidates are enough, or all that there are."""
        readable = read.readable
        if not crowded and selection.are_enough(readable, self._query):
            return True
        unread = len(read.candidates) >= read.wanted.most or len(readable) < len(read.candidates)
        more = hits.more or unread or (crowded and not read.wanted.fill)
        return not more or width >= _most_width(readable, self._query, crowded=crowded)

    def _pool(self, read: _ReadCandidates, vectors: VectorSearch) -> Pool:
        present = [candidate.id for candidate in read.candidates] if self._query.for_model else None
        return Pool.of(
            read.candidates,
            read.stats,
            vectors.cosines(read.pending, present),
            vectors.scale,
            vectors.hypothetical_cosines(read.pending, present),
        )


def _words_away() -> Outage:
    detail = "The index of words could not be searched, or is made again and does not have all memories yet."
    return Outage("lexical_unavailable", DatabaseUnavailable(detail))


def _most_width(candidates: Iterable[Candidate], query: Query, *, crowded: bool) -> int:
    """Return the largest factor for the usual number of candidates, where these candidates are not enough."""
    only_groups_lack = not crowded and selection.are_enough(candidates, replace(query, group_by=None))
    return _WIDTH_FOR_GROUPS if only_groups_lack else _MAX_WIDTH
