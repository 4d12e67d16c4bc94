"""One tenant's recalls: gather candidates, fuse their scores, have models judge the best, select entries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.domain.audit import RecallNote
from app.domain.memory import Scope
from app.domain.moments import DAY_MS
from app.domain.query import Entry, Group, Query
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate
from app.retrieval.query.analysis import PendingAnalysis
from app.retrieval.search import Search
from app.retrieval.selection import counted, is_crowded
from app.retrieval.weights import WEIGHTS, Weights
from app.services.memories.gathering import CandidateGatherer
from app.services.memories.judging import judge
from app.services.memories.vector_search import VectorSearch
from app.services.tenant import topics
from app.services.tenant.backends import TenantBackends


@dataclass(frozen=True, slots=True)
class Recall:
    """The entries of a recall, best first or group after group; ``degraded`` says why some may be missing."""

    entries: Sequence[Entry]
    degraded: Sequence[str] = ()
    confidence: float = 0.0
    """How likely it is that one of the best candidates answers the query, 0 to 1."""
    formers: Mapping[str, Sequence[Candidate]] = field(default_factory=dict)
    """By the id of an entry, the candidates that stated other values of what the entry states now."""
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By the id of a learned memory, the ids of its messages' memories; for one that was not found, the message's."""
    relevance: Mapping[str, float] = field(default_factory=dict)
    """How likely each memory that a reader has read answers, by its or its successor's id; empty without a reader."""
    note: RecallNote | None = field(default=None, compare=False)
    """The note for the recall log; None where recalls are not logged."""
    groups: Sequence[Group] | None = None
    """The groups of entries, best first; None where the query does not group."""
    agent: Literal["unknown"] | None = None
    """"unknown" where nothing was ever stored for the agent, and it was never set."""

    def answered_with(self, entries: Iterable[str]) -> None:
        """Note the ids of the entries that the caller is given, where these are not all of the recall's entries."""
        if self.note is not None:
            self.note.entries = tuple(entries)


async def search(
    backends: TenantBackends,
    scope: Scope,
    query: Query,
    *,
    also: str | None = None,
    analysing: PendingAnalysis | None = None,
    note: RecallNote | None = None,
    weights: Weights = WEIGHTS,
) -> Search:
    """Find and score the candidates of a query, with the embedding config that was last seen in use.

    The scope's memory ``also`` is a candidate in any case. ``analysing`` is a language model's analysis of the query,
    under way while the query is embedded. ``note`` counts the embedded characters and the queries of the index. Scores
    are made of ``weights``.

    Raises:
        EmbeddingConfigChanged: another config is in use.
        LongTermDisabled: the agent's long-term memory is switched off.
        Unavailable: there is no answer, since an outage never gives an empty answer; or the recall is strict, and the
            embedder, the index or the index of words did not answer.
    """
    cache = backends.data.caches.topics
    changes = cache.changes
    gathered = await CandidateGatherer(backends, scope, query, also=also, analysing=analysing, note=note).gather()
    if analysing is not None:
        topics.remember(cache, scope, gathered.topics, backends.clock(), since=changes)
    # Outages are raised only now: the database says first whether long-term memory is on, and which config is in use.
    strict = backends.models.recall_strict if query.strict is None else query.strict
    if strict and gathered.outages:
        raise gathered.outages[0].error
    fusion = Fusion(gathered.parsed, gathered.pool, backends.channels, weights)
    outage = gathered.vectors.outage
    if outage is not None and gathered.pool.candidates and not any(fusion.found.values()):
        raise outage.error  # no other channel has found a candidate, though the scope has some
    # The moment as of which memories hold is the same in ``candidates.sql``.
    horizon = backends.clock() + DAY_MS if query.as_of is None else query.as_of
    missing = [*_degraded(gathered.vectors, fusion, query), *gathered.vectors.degraded, *gathered.degraded]
    across = gathered.vectors.config.is_multilingual
    found = Search(fusion, list(dict.fromkeys(missing)), agent_known=gathered.agent_known, across=across)
    return await judge(found, query, backends.models, horizon)


def select(found: Search, query: Query, note: RecallNote | None = None) -> Recall:
    """Return the recall of a query: its entries of a search. ``note`` takes their ids and channels."""
    candidates, groups = found.select(query)
    if note is not None:
        note.entries = ids = [candidate.id for candidate in candidates]
        note.degraded = found.degraded
        by_channel = found.fusion.by_channel
        note.channels = [name for name, scores in by_channel.items() if scores and any(map(scores.get, ids))]
    return Recall(
        [found.entry(candidate, query) for candidate in candidates],
        found.degraded,
        found.confidence,
        found.formers,
        found.sources,
        found.relevance if found.is_read else {},
        note,
        groups,
        None if found.agent_known else "unknown",
    )


def _degraded(vectors: VectorSearch, fusion: Fusion, query: Query) -> list[str]:
    """Return the parts of ``degraded`` that say why candidates were not compared by meaning."""
    if vectors.outage is not None:
        return [vectors.outage.part]
    candidates = fusion.pool.candidates
    if vectors.hits.filtered and not is_crowded(vectors.hits, candidates.values(), query):
        return []
    compared = [candidate for id_, candidate in candidates.items() if id_ in fusion.pool.cosines]
    if vectors.hits.filtered and len(compared) == len(candidates):
        return []
    few = sum(1 for _ in counted(compared, query)) < query.top_k
    return ["filter_beyond_index"] if few else []
