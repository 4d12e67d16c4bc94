"""One tenant's recalls: ask each channel, fuse what they find, and say when one of them did not answer."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

import structlog

from app.domain.audit import RecallNote
from app.domain.claim import TOPIC
from app.domain.errors import DatabaseRejected, LongTermDisabled, Unavailable
from app.domain.memory import Scope
from app.domain.query import Entry, Query
from app.ports.database import Row
from app.ports.vector_index import AwaitedHits, Hits
from app.retrieval import selection
from app.retrieval.channels import vector
from app.retrieval.channels.channel import ParsedQuery, Recency
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate, Pool, ScopeStats
from app.retrieval.query.analysis import Analysis, synonym_terms
from app.retrieval.query.clipping import clipped
from app.retrieval.query.names import without_names
from app.retrieval.query.periods import periods
from app.retrieval.query.terms import terms
from app.retrieval.search import Search
from app.services.backends import EmbeddingConfigChanged, TenantBackends
from app.services.deciding import decided
from app.services.reranking import rated
from app.services.vector_search import Away, VectorSearch
from app.storage import request_state
from app.storage.candidates import CandidateQuery, find_candidates, read_candidates
from app.storage.outbox import MAX_IN_BULK, MAX_PENDING, NEWEST_IN_BULK, Outbox, scored
from app.storage.topics import topics

Analysing: TypeAlias = Callable[[], Awaitable[Analysis]]
"""Returns what a language model makes of a query, which may be under way; it raises nothing."""

_DAY_MS = 86_400_000
_USUAL_TOP_K = 20
"""Who asks for more entries is given a choice from twice as many candidates."""
_LIKELY = 50
"""Candidates whose content is read, with those around them in their sessions: of fewer, evidence is lost (ADR 0038)."""
_MAX_WIDTH = 16
"""How many times as many candidates as usual a recall gathers where others took the places of entries."""

_FOLDED_AT_ONCE = 16 * 1024
"""Characters whose folding takes some milliseconds, whatever they are."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What a recall found, best first, and in ``degraded`` why it may not be all there is."""

    entries: Sequence[Entry]
    degraded: Sequence[str] = ()
    confidence: float = 0.0
    """How likely it is that something of it answers the query, 0 to 1."""
    formers: Mapping[str, Sequence[Candidate]] = field(default_factory=dict)
    """By the id of an entry, the memories that were found and stated otherwise what it states now."""
    topical: Collection[str] = ()
    """The ids of those that were learned, and have a topic which a language model has picked for the query."""
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By the id of a memory that was learned, the ids of its messages' memories, as far as they were found."""
    relevance: Mapping[str, float] = field(default_factory=dict)
    """How likely each memory that a reader has read answers, by its id, or what has taken its place; none without."""
    note: RecallNote | None = field(default=None, compare=False)
    """What is noted of it, where it is."""

    def answered_with(self, entries: Iterable[str]) -> None:
        """Note the ids of what its caller is given, where these are not all of its entries."""
        if self.note is not None:
            self.note.entries = tuple(entries)


class Recaller:
    """Recalls for one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with."""
        self._backends = backends
        self._channels = backends.channels

    async def recall(
        self, scope: Scope, query: Query, analysing: Analysing | None = None, note: RecallNote | None = None
    ) -> Recall:
        """Answer a query with the config that was last seen in use.

        ``analysing`` gives what a language model makes of the query; it is awaited while the query is embedded.
        ``note`` is told what is found, and what that takes.

        Raises:
            EmbeddingConfigChanged: another config is in use.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: there is no answer; an outage is never an empty one.
        """
        search = await self.search(scope, query, analysing=analysing, note=note)
        ranked = list(islice(search.ranked(query), query.top_k))
        entries = [search.entry(candidate, explain=query.explain) for candidate in ranked]
        topical = [candidate.id for candidate in ranked if candidate.keyed]
        found = search.fusion
        if note is not None:
            note.entries = ids = [candidate.id for candidate in ranked]
            note.degraded = search.degraded
            note.channels = [name for name, each in found.by_channel.items() if each and any(map(each.get, ids))]
        return Recall(
            entries,
            search.degraded,
            search.confidence,
            search.formers,
            topical,
            search.sources,
            search.relevance if search.is_read else {},
            note,
        )

    async def search(
        self,
        scope: Scope,
        query: Query,
        *,
        also: str | None = None,
        analysing: Analysing | None = None,
        note: RecallNote | None = None,
    ) -> Search:
        """Find and weigh the candidates of a query; the scope's memory ``also`` is one in any case.

        Raises as ``recall`` does.
        """
        active = self._backends.configs.active
        vectors = VectorSearch(self._backends, active, scope, query.where, note)
        if note is not None:
            note.config = active.label
        width = 1 if query.top_k <= _USUAL_TOP_K else 2
        analysis = await self._begin(vectors, query, analysing, width * vector.DEPTH)
        parsed = self._parse(query, analysis)
        gathered = await self._gather_enough(scope, query, parsed, vectors, width, also)
        if query.for_answer:
            self._backends.topics.put(scope, gathered.topics, self._backends.clock())
        present = [one.id for one in gathered.candidates] if query.for_model else None
        pool = Pool.of(
            gathered.candidates,
            gathered.stats,
            vectors.cosines(gathered.pending, present),
            vectors.scale,
            vectors.hypothetical_cosines(gathered.pending, present),
        )
        fusion = Fusion(gathered.parsed, pool, self._channels)
        if vectors.away is not None:
            _check(fusion, vectors.away.error)
        comparisons, undecided = await decided(fusion, self._backends.reader, self._horizon(query))
        if query.collapse:
            await _fold(fusion.ranked)
        missing = [
            *_degraded(vectors.away, vectors.hits, fusion, query),
            *vectors.degraded,
            *gathered.degraded,
            *undecided,
        ]
        found = Search(fusion, list(dict.fromkeys(missing)), comparisons=comparisons)
        return await rated(found, query, self._backends.reranker, None if undecided else self._backends.reader)

    def _horizon(self, query: Query) -> int:
        """Return the moment as of which memories hold, as ``candidates.sql`` has it."""
        return self._backends.clock() + _DAY_MS if query.as_of is None else query.as_of

    async def _begin(self, vectors: VectorSearch, query: Query, analysing: Analysing | None, depth: int) -> Analysis:
        """Ask the index for what is near the query, and what is near how its analysis words an answer.

        Without an analysis, which takes its time meanwhile, the run that reads candidates may ask the index.
        """
        await vectors.embed(query.embedded or without_names(query.text))
        await vectors.ask(depth, within=analysing is None)
        analysis = Analysis() if analysing is None else await analysing()
        if analysis.statement:
            await vectors.suppose(analysis.statement, depth)
        return analysis

    async def _gather_enough(
        self, scope: Scope, query: Query, parsed: ParsedQuery, vectors: VectorSearch, width: int, also: str | None
    ) -> "_Gathered":
        """Read candidates, and more of them where others took the places of entries; raises as ``_gather`` does."""
        crowded = False
        while True:
            # The index comes first: what the indexer confirms meanwhile is then in the hits, not in neither.
            found = replace(parsed, hits=vectors.hits.hits, hypothetical_hits=vectors.hypothetical_hits.hits)
            wanted = CandidateQuery(
                sections={each.section: each.candidates(found) for each in self._channels if each.section},
                index_name=vectors.config.index_name,
                max_pending=MAX_PENDING,
                max_in_bulk=MAX_IN_BULK,
                newest_in_bulk=NEWEST_IN_BULK,
                where=query.where,
                fill=0 if vectors.hits.filtered and not crowded else query.top_k,
                also=also,
                width=width,
                likely=max(_LIKELY * width, 2 * query.top_k),
                for_model=query.for_model,
                as_of=query.as_of,
                for_answer=query.for_answer,
            )
            gathered = await self._gather(scope, vectors, found, wanted)
            if not await vectors.settle(width * vector.DEPTH) or not (vectors.hits.filtered or wanted.fill):
                continue  # what the run has found out in passing, or has not, asks for another
            if vectors.hits.hits is not found.hits:  # the run has found them itself
                gathered = replace(gathered, parsed=replace(found, hits=vectors.hits.hits))
            if query.collapse:
                await _fold(gathered.readable)
            crowded = _is_crowded(vectors.hits, gathered.candidates, query)
            unread = len(gathered.candidates) >= wanted.most or len(gathered.readable) < len(gathered.candidates)
            more = vectors.hits.more or unread or (crowded and not wanted.fill)
            enough = _is_enough(gathered.readable, query) and not crowded
            if enough or not more or width >= _MAX_WIDTH:
                return gathered
            # Vectors whose memory is gone, memories of one content, what no longer holds, or rows of a program took the
            # places.
            width = min(4 * width, _MAX_WIDTH)
            await vectors.ask(width * vector.DEPTH)

    def _parse(self, query: Query, analysis: Analysis) -> ParsedQuery:
        told = query.as_of if query.reference_time is None else query.reference_time
        reference = self._backends.clock() if told is None else told
        recency = None if query.recency_days is None else Recency(reference, query.recency_days * _DAY_MS)
        text = clipped(query.text)
        own, keys = terms(text), [TOPIC + topic for topic in analysis.topics]
        other_words = synonym_terms(analysis.synonyms, own)
        return ParsedQuery(text, own, periods(text, reference), keys, recency, synonyms=other_words)

    async def _gather(
        self, scope: Scope, vectors: VectorSearch, parsed: ParsedQuery, wanted: CandidateQuery
    ) -> "_Gathered":
        """Read the candidates and what the index may not show yet, in one run.

        Raises:
            EmbeddingConfigChanged: another config is in use.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: the database does not answer.
        """
        degraded: list[str] = []
        try:
            state, pending, rows, known = await self._read(scope, wanted, vectors.awaited)
        except DatabaseRejected as error:
            structlog.get_logger().error("lexical_away", code=error.code, reason=error.detail)
            state, pending, rows, known = await self._read(scope, replace(wanted, search_words=False), vectors.awaited)
            degraded.append("lexical_unavailable")
        if state["words_missing"] and not degraded:
            degraded.append("lexical_unavailable")
        seen = self._backends.observe(state)
        if state["disabled"]:
            raise LongTermDisabled
        if seen is not None and seen.active != vectors.config:
            raise EmbeddingConfigChanged
        waiting, more = scored(pending)
        if more:
            degraded.append("pending_bound")
        found, stats = read_candidates(rows)
        named = [str(row["topic"]) for row in known]
        return _Gathered(
            [Candidate(**fields) for fields in found], ScopeStats(**stats), waiting, degraded, parsed, named
        )

    async def _read(
        self, scope: Scope, wanted: CandidateQuery, awaited: AwaitedHits | None
    ) -> tuple[Row, list[Row], list[Row], list[Row]]:
        """Read what the run learns in passing, what is queued for the index, the candidates, and the scope's topics."""
        reading = [
            request_state.read_for_recall(scope),
            Outbox(scope).pending(wanted.where, wanted.index_name, for_model=wanted.for_model),
            replace(find_candidates(scope, wanted), awaits=awaited),
        ]
        if wanted.for_answer:
            reading.append(topics(scope))
        (state,), pending, rows, *known = await self._backends.database.run(reading)
        return state, pending, rows, known[0] if known else []


@dataclass(frozen=True, slots=True)
class _Gathered:
    candidates: Sequence[Candidate]
    stats: ScopeStats
    pending: Sequence[Row]
    degraded: Sequence[str]
    parsed: ParsedQuery
    """The query with the index's hits that it was gathered with."""
    topics: Sequence[str]
    """The scope's topics, where a model is to answer."""

    @property
    def readable(self) -> Sequence[Candidate]:
        """The candidates that may be entries."""
        return [candidate for candidate in self.candidates if candidate.whole]


async def _fold(candidates: Sequence[Candidate]) -> None:
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
    """Tell whether there are as many candidates that may be entries as are asked for."""
    holding = (candidate for candidate in candidates if not candidate.superseded)
    different = selection.distinct(holding) if query.collapse else holding
    return sum(1 for _ in islice(different, query.top_k)) == query.top_k


def _is_crowded(hits: Hits, candidates: Iterable[Candidate], query: Query) -> bool:
    """Tell whether rows that a program keeps may have taken the places of memories among the index's hits.

    The index does not leave them out. Who compares fewer memories than are asked for, though the index gave as many
    hits as it was asked for, has to look further.
    """
    if not query.for_model or len(hits.hits) < vector.DEPTH:
        return False
    present = {candidate.id for candidate in candidates}
    return sum(hit.id in present for hit in hits.hits) < query.top_k


def _degraded(away: Away | None, hits: Hits, fusion: Fusion, query: Query) -> list[str]:
    if away is not None:
        return [away.what]
    candidates = fusion.pool.candidates
    compared = sum(id_ in fusion.pool.cosines for id_ in candidates)
    crowded = _is_crowded(hits, candidates.values(), query) and compared < len(candidates)
    return ["filter_beyond_index"] if compared < query.top_k and (crowded or not hits.filtered) else []


def _check(fusion: Fusion, away: Unavailable) -> None:
    """Raise why the vector channel is away, where no other has found anything though there is something to find."""
    if fusion.pool.candidates and not any(fusion.scores.values()):
        raise away
