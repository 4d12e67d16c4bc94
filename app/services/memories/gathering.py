"""Gathers the candidates of one recall: what is near the query and what has its words, in one run of the database."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import structlog

from app.domain.audit import RecallNote
from app.domain.claim import TOPIC
from app.domain.errors import DatabaseRejected, DatabaseUnavailable, LongTermDisabled
from app.domain.memory import Scope
from app.domain.query import Query
from app.ports.database import Row
from app.ports.vector_index import AwaitedHits, Hits
from app.retrieval import grouping, selection
from app.retrieval.channels import vector
from app.retrieval.channels.channel import ParsedQuery, Recency
from app.retrieval.pool import Candidate, Pool, ScopeStats
from app.retrieval.query.analysis import Analysis, synonym_terms
from app.retrieval.query.clipping import clipped
from app.retrieval.query.names import without_speakers
from app.retrieval.query.periods import periods
from app.retrieval.query.sentences import QuerySentences
from app.retrieval.query.terms import terms
from app.services.memories.vector_search import Away, VectorSearch
from app.services.tenant.backends import EmbeddingConfigChanged, TenantBackends
from app.storage import request_state
from app.storage.candidates import CandidateQuery, find_candidates, read_candidates
from app.storage.outbox import MAX_IN_BULK, MAX_PENDING, NEWEST_IN_BULK, Outbox, scored
from app.storage.topics import topics

DAY_MS = 86_400_000
ANALYSIS_UNAVAILABLE: Final = "analysis_unavailable"
"""``degraded``: what a model was to make of the query, or what its statement finds, was not there in time."""
_USUAL_TOP_K = 20
"""Who asks for more entries is given a choice from twice as many candidates."""
_LIKELY = 50
"""Candidates whose content is read, with those around them in their sessions: of fewer, evidence is lost (ADR 0038)."""
_MAX_WIDTH = 16
"""How many times as many candidates as usual a recall gathers where others took the places of entries."""
_WIDTH_FOR_GROUPS = 4
"""The same where only groups lack: there may be few sessions, however much is read."""

_FOLDED_AT_ONCE = 16 * 1024
"""Characters whose folding takes some milliseconds, whatever they are."""


@dataclass(frozen=True, slots=True)
class Analysing:
    """What a language model makes of a query, which is under way."""

    analysis: "asyncio.Task[Analysis | None]"
    """Ends in time, and raises nothing; None: the model has said nothing of use."""
    ends: float
    """Until when a recall waits for what the statement finds, by the clock of the event loop."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was gathered for a query."""

    pool: Pool
    parsed: ParsedQuery
    """The query with the index's hits that it was gathered with."""
    vectors: VectorSearch
    outages: Sequence[Away]
    """What did not answer, of the index of words too."""
    degraded: Sequence[str]
    topics: Sequence[str]
    """The scope's topics, where a model analyses the query."""


class CandidateGatherer:
    """Gathers the candidates of one query of one tenant."""

    def __init__(
        self,
        backends: TenantBackends,
        scope: Scope,
        query: Query,
        *,
        also: str | None = None,
        analysing: Analysing | None = None,
        note: RecallNote | None = None,
    ) -> None:
        """Bind the query.

        The scope's memory ``also`` is a candidate in any case. ``analysing`` goes on while the query is embedded.
        ``note`` is told what it takes.
        """
        self._backends = backends
        self._scope = scope
        self._query = query
        self._sentences = QuerySentences(query.text)
        self._also = also
        self._analysing = analysing
        self._supposed: VectorSearch | None = None
        """What has looked for the statement of the analysis."""
        self._degraded: Sequence[str] = ()
        self._note = note

    async def gather(self) -> Gathered:
        """Gather the candidates, and anew where it turns out that somebody speaks here whose name was embedded.

        Raises:
            EmbeddingConfigChanged: another config is in use.
            EmbeddingConfigMismatch: this process cannot embed with the config.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer.
        """
        embedded = self._embedded()
        gathered = await self._look(embedded)
        self._backends.data.speakers.add(self._scope, gathered.pool.first_names)
        again = self._embedded()
        if again != embedded and gathered.vectors.away is None:
            gathered = await self._look(again)
        return gathered

    def _embedded(self) -> Sequence[str]:
        """Return what of the query is embedded, and what is asked apart of it."""
        if self._query.embedded is not None:
            return (self._query.embedded,)
        speakers = self._backends.data.speakers.get(self._scope)
        asked = (self._sentences.without_greetings, *self._sentences.needs)
        return tuple(without_speakers(each, speakers) for each in asked)

    async def _look(self, embedded: Sequence[str]) -> Gathered:
        """Gather the candidates, where the first of ``embedded`` is embedded as the query and the others apart."""
        query = self._query
        active = self._backends.data.configs.active
        vectors = VectorSearch(self._backends, active, self._scope, query.where, self._note)
        if self._note is not None:
            self._note.config = active.label
        width = 1 if query.top_k <= _USUAL_TOP_K else 2
        analysis = await self._begin(vectors, embedded, width * vector.DEPTH)
        read = await self._read_enough(self._parse(analysis), vectors, width)
        present = [one.id for one in read.candidates] if query.for_model else None
        pool = Pool.of(
            read.candidates,
            read.stats,
            vectors.cosines(read.pending, present),
            vectors.scale,
            vectors.hypothetical_cosines(read.pending, present),
        )
        outages = [*vectors.outages, *read.outages]
        return Gathered(pool, read.parsed, vectors, outages, [*self._degraded, *read.degraded], read.topics)

    async def _begin(self, vectors: VectorSearch, embedded: Sequence[str], depth: int) -> Analysis:
        """Ask the index for what is near the query, and what is near how its analysis words an answer.

        Without an analysis, which takes its time meanwhile, the run that reads candidates may ask the index. What an
        analysis finds too late, or not at all, is left out.
        """
        await vectors.embed(embedded[0], embedded[1:])
        await vectors.ask(depth, within=self._analysing is None)
        if self._analysing is None:
            return Analysis()
        analysis = await self._analysing.analysis
        if self._supposed is not None:
            vectors.supposed = self._supposed.supposed
        elif analysis is None:
            self._degraded = [ANALYSIS_UNAVAILABLE]
        elif analysis.statement:
            try:
                async with asyncio.timeout_at(self._analysing.ends):
                    await vectors.suppose(analysis.statement, depth)
            except TimeoutError:
                self._degraded = [ANALYSIS_UNAVAILABLE]
            self._supposed = vectors
        return analysis or Analysis()

    async def _read_enough(self, parsed: ParsedQuery, vectors: VectorSearch, width: int) -> "_ReadCandidates":
        """Read candidates, and more of them where others took the places of entries; raises as ``gather`` does."""
        crowded = False
        while True:
            read = await self._read_with_hits(parsed, vectors, width, crowded=crowded)
            judgement = await self._judge(read, vectors.hits, width)
            if judgement.final:
                return read
            crowded = judgement.crowded
            width = await self._widen(vectors, width)

    async def _read_with_hits(
        self, parsed: ParsedQuery, vectors: VectorSearch, width: int, *, crowded: bool
    ) -> "_ReadCandidates":
        """Read the candidates together with the index's hits, which the run may find itself."""
        while True:
            # The index comes first: what the indexer confirms meanwhile is then in the hits, not in neither.
            with_hits = replace(parsed, hits=vectors.hits.hits, hypothetical_hits=vectors.hypothetical_hits.hits)
            fill = 0 if vectors.hits.filtered and not crowded else self._query.most_entries
            wanted = self._wanted(with_hits, vectors.config.index_name, width, fill)
            read = await self._read(vectors, with_hits, wanted)
            settled = await vectors.settle(width * vector.DEPTH)
            if settled and (vectors.hits.filtered or fill):
                return replace(read, parsed=replace(with_hits, hits=vectors.hits.hits))
            # The run could not ask the index, or has found hits that only the newest memories can fill up: again.

    async def _judge(self, read: "_ReadCandidates", hits: Hits, width: int) -> "_Judgement":
        """Tell whether these candidates are enough, or all that can be had."""
        query = self._query
        if query.collapse:
            await fold(read.readable)
        crowded = is_crowded(hits, read.candidates, query)
        if not crowded and _is_enough(read.readable, query):
            return _Judgement(crowded, final=True)
        unread = len(read.candidates) >= read.wanted.most or len(read.readable) < len(read.candidates)
        more = hits.more or unread or (crowded and not read.wanted.fill)
        return _Judgement(crowded, final=not more or width >= _most_width(read.readable, query, crowded=crowded))

    async def _widen(self, vectors: VectorSearch, width: int) -> int:
        """Ask the index for four times as many hits, and return that width.

        Vectors whose memory is gone, memories of one content or session, what no longer holds, or rows of a program
        took the places of entries.
        """
        wider = min(4 * width, _MAX_WIDTH)
        await vectors.ask(wider * vector.DEPTH)
        return wider

    def _wanted(self, found: ParsedQuery, index_name: str, width: int, fill: int) -> CandidateQuery:
        query = self._query
        return CandidateQuery(
            sections={each.section: each.candidates(found) for each in self._backends.channels if each.section},
            index_name=index_name,
            max_pending=MAX_PENDING,
            max_in_bulk=MAX_IN_BULK,
            newest_in_bulk=NEWEST_IN_BULK,
            where=query.where,
            fill=fill,
            also=self._also,
            width=width,
            likely=max(_LIKELY * width, 2 * query.most_entries),
            for_model=query.for_model,
            as_of=query.as_of,
            for_answer=query.for_answer,
        )

    def _parse(self, analysis: Analysis) -> ParsedQuery:
        query = self._query
        told = query.as_of if query.reference_time is None else query.reference_time
        reference = self._backends.clock() if told is None else told
        recency = None if query.recency_days is None else Recency(reference, query.recency_days * DAY_MS)
        text = clipped(query.text)
        own, keys = terms(text), [TOPIC + topic for topic in analysis.topics]
        other_words = synonym_terms(analysis.synonyms, own)
        named = periods(clipped(self._sentences.asking), reference)
        return ParsedQuery(text, own, self._sentences.parts(own), named, keys, recency, synonyms=other_words)

    async def _read(self, vectors: VectorSearch, parsed: ParsedQuery, wanted: CandidateQuery) -> "_ReadCandidates":
        """Read the candidates and what the index may not show yet, in one run; raises as ``gather`` does."""
        searched = True
        try:
            state, pending, rows, known = await self._rows(wanted, vectors.awaited)
        except DatabaseRejected as error:
            structlog.get_logger().error("lexical_away", code=error.code, reason=error.detail)
            state, pending, rows, known = await self._rows(replace(wanted, search_words=False), vectors.awaited)
            searched = False
        outages = [] if searched and not state["words_missing"] else [_words_away()]
        seen = self._backends.data.observe(state)
        if state["disabled"]:
            raise LongTermDisabled
        if seen is not None and seen.active != vectors.config:
            raise EmbeddingConfigChanged
        waiting, more = scored(pending)
        degraded = [*(outage.what for outage in outages), *(["pending_bound"] if more else [])]
        found, stats = read_candidates(rows)
        candidates = [Candidate(**fields) for fields in found]
        named = [str(row["topic"]) for row in known]
        return _ReadCandidates(candidates, ScopeStats(**stats), waiting, outages, degraded, parsed, wanted, named)

    async def _rows(
        self, wanted: CandidateQuery, awaited: AwaitedHits | None
    ) -> tuple[Row, list[Row], list[Row], list[Row]]:
        """Read what the run learns in passing, what is queued for the index, the candidates, and the scope's topics."""
        reading = [
            request_state.read_for_recall(self._scope),
            Outbox(self._scope).pending(wanted.where, wanted.index_name, for_model=wanted.for_model),
            replace(find_candidates(self._scope, wanted), awaits=awaited),
        ]
        if self._analysing is not None:
            reading.append(topics(self._scope))
        (state,), pending, rows, *known = await self._backends.data.database.run(reading)
        return state, pending, rows, known[0] if known else []


@dataclass(frozen=True, slots=True)
class _ReadCandidates:
    """What one run of the database has read."""

    candidates: Sequence[Candidate]
    stats: ScopeStats
    pending: Sequence[Row]
    outages: Sequence[Away]
    degraded: Sequence[str]
    parsed: ParsedQuery
    wanted: CandidateQuery
    topics: Sequence[str]

    @property
    def readable(self) -> Sequence[Candidate]:
        """The candidates that may be entries."""
        return [candidate for candidate in self.candidates if candidate.whole]


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What was made of candidates."""

    crowded: bool
    """Whether rows that a program keeps took the places of memories."""
    final: bool
    """Whether there are enough of them, or no more to be had."""


def _words_away() -> Away:
    detail = "The index of words could not be searched, or is made again and does not have all memories yet."
    return Away("lexical_unavailable", DatabaseUnavailable(detail))


async def fold(candidates: Sequence[Candidate]) -> None:
    """Fold the candidates that a collapse compares; the event loop goes on between parts of them."""
    if sum(len(candidate.content) for candidate in candidates) <= _FOLDED_AT_ONCE:
        return  # those that are needed are folded when they are
    characters = 0
    for candidate in selection.compared(candidates):
        characters += len(candidate.folded)
        if characters > _FOLDED_AT_ONCE:
            characters = 0
            await asyncio.sleep(0)


def _is_enough(candidates: Iterable[Candidate], query: Query) -> bool:
    """Tell whether there are as many candidates that may be entries, or groups of these, as are asked for."""
    holding = (candidate for candidate in candidates if not candidate.superseded)
    different = selection.distinct(holding) if query.collapse else holding
    return sum(1 for _ in islice(grouping.counted(different, query), query.top_k)) == query.top_k


def _most_width(candidates: Iterable[Candidate], query: Query, *, crowded: bool) -> int:
    """Return how many times as many candidates as usual are gathered at most, where there are not enough of these."""
    only_groups_lack = not crowded and _is_enough(candidates, replace(query, group_by=None))
    return _WIDTH_FOR_GROUPS if only_groups_lack else _MAX_WIDTH


def is_crowded(hits: Hits, candidates: Iterable[Candidate], query: Query) -> bool:
    """Tell whether rows that a program keeps may have taken the places of memories among the index's hits.

    The index does not leave them out. Who compares fewer memories than are asked for, though the index gave as many
    hits as it was asked for, has to look further.
    """
    if not query.for_model or len(hits.hits) < vector.DEPTH:
        return False
    present = {candidate.id for candidate in candidates}
    return sum(hit.id in present for hit in hits.hits) < query.top_k
