"""Has models judge the best candidates of a recall: a reader compares them, and it or a reranker rates them.

A recall goes on without a model that is away, and ``degraded`` says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import structlog

from app.domain.comparing import MAX_PAIRS, Comparison, effect_of, strongest, to_read
from app.domain.errors import Unavailable
from app.domain.memory import STORE_KEY
from app.domain.query import Query
from app.retrieval import answering
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate
from app.retrieval.reranking import Relevance, to_rate
from app.retrieval.succession import decide, succeeded, undecided
from app.services.memories.gathering import fold
from app.services.models.reader import TenantReader
from app.services.models.reranker import TenantReranker
from app.services.tenant.backends import TenantModels

_FIRST = 8
"""Candidates among which pairs are compared."""
_PASSAGES = 2
"""Pairs of passages that are read for one pair of long memories; in the background all are."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What models say of the best candidates, beside the places that these have taken of each other."""

    comparisons: Sequence[Comparison] = ()
    relevance: Relevance = field(default_factory=dict)
    is_read: bool = False
    """Whether a reader has rated; else a reranker has, if anybody has."""
    degraded: Sequence[str] = ()


async def judge(fusion: Fusion, query: Query, models: TenantModels, horizon: int) -> Judgement:
    """Compare the best candidates that wait for it, so that a correction holds at once, and rate the best.

    What happens later than ``horizon`` takes nobody's place yet. Who sets a reranker is rated by it.
    """
    reader, reranker = models.reader, models.reranker
    judged = Judgement() if reader is None else await _compare(fusion, reader, horizon)
    if query.collapse:
        await fold(fusion.ranked)
    if reranker is not None:
        return await _rerank(fusion, query, reranker, judged)
    return judged if reader is None or judged.degraded else await _read(fusion, query, reader, judged)


async def _compare(fusion: Fusion, reader: TenantReader, horizon: int) -> Judgement:
    """Have candidates take each other's place before they are ranked."""
    first = [one for one in fusion.first(_FIRST) if one.happened_at <= horizon and _may_be_compared(one)]
    pairs = undecided(first, MAX_PAIRS)
    if not pairs:
        return Judgement()
    try:
        comparisons = await _compared(pairs, reader)
    except Unavailable as error:
        return _without("reader", error, Judgement())
    decide(fusion.pool, comparisons)
    return Judgement(comparisons)


async def _compared(pairs: Sequence[tuple[Candidate, Candidate]], reader: TenantReader) -> list[Comparison]:
    """Return how the newer of each pair bears on the older, of as many pairs as are read at once."""
    asked = [to_read(older.statement, newer.statement)[:_PASSAGES] for older, newer in pairs]
    answers = iter(await reader.relations([passage for passages in asked for passage in passages][:MAX_PAIRS]))
    comparisons: list[Comparison] = []
    for (older, newer), passages in zip(pairs, asked, strict=True):
        relations = [relation for _, relation in zip(passages, answers, strict=False)]
        if not relations:
            break
        relation = strongest(relations)
        effect = effect_of(relations, reader.thresholds, older.statement, newer.statement)
        comparisons.append(Comparison(older.id, newer.id, relation.name, relation.update, effect, reader.version))
    return comparisons


def _may_be_compared(candidate: Candidate) -> bool:
    """Tell whether all is known that decides it: of what was learned, the messages are read only for a model."""
    is_known = not candidate.learned or candidate.sources is not None
    return is_known and not candidate.expired and STORE_KEY not in candidate.metadata_json


async def _rerank(fusion: Fusion, query: Query, reranker: TenantReranker, judged: Judgement) -> Judgement:
    chosen = to_rate(fusion.ranked, collapse=query.collapse)
    if not chosen:
        return judged
    try:
        relevances = await reranker.rerank(query.text, [candidate.content for candidate in chosen])
    except Unavailable as error:
        return _without("reranker", error, judged)
    relevance = {candidate.id: value for candidate, value in zip(chosen, relevances, strict=True)}
    return replace(judged, relevance=succeeded(fusion.pool, relevance))


async def _read(fusion: Fusion, query: Query, reader: TenantReader, judged: Judgement) -> Judgement:
    chosen = answering.to_read(fusion, collapse=query.collapse)
    if not chosen:
        return judged
    try:
        relevances = await reader.relevance(fusion.query.text, list(chosen.values()))
    except Unavailable as error:
        return _without("reader", error, judged)
    relevance = dict(zip(chosen, relevances, strict=True))
    answering.leave_apart(fusion.pool, relevance)
    return replace(judged, relevance=succeeded(fusion.pool, relevance), is_read=True)


def _without(model: Literal["reader", "reranker"], error: Unavailable, judged: Judgement) -> Judgement:
    structlog.get_logger().warning(f"{model}_away", code=error.code, reason=error.detail)
    return replace(judged, degraded=[*judged.degraded, f"{model}_unavailable"])
