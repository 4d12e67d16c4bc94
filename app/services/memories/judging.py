"""Has models judge the best candidates of a recall: a reader compares them, and a reranker or the reader rates them.

A recall goes on without a model that is away, and ``degraded`` says so.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import structlog

from app.domain.comparing import MAX_PAIRS, Comparison, effect_of, strongest, to_read
from app.domain.errors import Unavailable
from app.domain.memory import STORE_KEY
from app.domain.query import Query
from app.domain.reading import Relation
from app.retrieval import answering, restatements
from app.retrieval.pool import Candidate
from app.retrieval.reranking import to_rate
from app.retrieval.search import Search
from app.retrieval.selection import fold
from app.retrieval.succession import decide, succeeded, undecided
from app.services.models.reader import TenantReader
from app.services.models.reranker import TenantReranker
from app.services.tenant.backends import TenantModels
from app.services.turns.turns import off_the_loop

_Pair = tuple[Candidate, Candidate]
"""An older and a newer candidate."""
_Passages = Sequence[tuple[str, str]]
_READER_AWAY = "reader_unavailable"
_FIRST = 8
"""Candidates among which pairs are compared."""
_PASSAGES = 2
"""Pairs of passages that are read for one pair of long memories; in the background all pairs are read."""


async def judge(search: Search, query: Query, models: TenantModels, horizon: int) -> Search:
    """Compare the best candidates that are not compared yet, so that a correction holds at once, and rate the best.

    A memory that happens later than ``horizon`` (ms since the epoch) replaces no other yet. A reranker, where one is
    set, rates instead of the reader.
    """
    reader, reranker = models.reader, models.reranker
    if reader is not None:
        search = await _compare(search, reader, horizon)
    if query.collapse:
        await fold(search.fusion.ranked)
    if reranker is not None:
        search = await _rerank(search, query, reranker)
    elif reader is not None and _READER_AWAY not in search.degraded:
        search = await _read(search, query, reader)
    if query.collapse != "restatements" or reader is None or _READER_AWAY in search.degraded:
        return search
    return await _find_restatements(search, query, reader)


async def _compare(search: Search, reader: TenantReader, horizon: int) -> Search:
    """Have the reader decide which candidates replace others, before the candidates are ranked."""
    fusion = search.fusion
    first = [
        candidate
        for candidate in fusion.first(_FIRST)
        if candidate.happened_at <= horizon and _may_be_compared(candidate)
    ]
    pairs, asked = await off_the_loop(first, partial(_to_compare, first))
    if not pairs:
        return search
    try:
        answers = await reader.relations([passage for passages in asked for passage in passages][:MAX_PAIRS])
    except Unavailable as error:
        return _without("reader", error, search)
    comparisons = await off_the_loop(first, partial(_compared, pairs, asked, answers, reader))
    decide(fusion.pool, comparisons)
    return replace(search, comparisons=comparisons)


def _to_compare(first: Sequence[Candidate]) -> tuple[Sequence[_Pair], Sequence[_Passages]]:
    """Return the pairs of candidates to compare, and the passages that are read of each."""
    pairs = undecided(first, MAX_PAIRS)
    return pairs, [to_read(older.statement, newer.statement)[:_PASSAGES] for older, newer in pairs]


def _compared(
    pairs: Sequence[_Pair], asked: Sequence[_Passages], answers: Sequence[Relation], reader: TenantReader
) -> list[Comparison]:
    """Return how the newer candidate of each pair bears on the older.

    ``answers`` are the relations of the passages that were ``asked``; where they end, the pairs that follow are left
    out.
    """
    left = iter(answers)
    comparisons: list[Comparison] = []
    for (older, newer), passages in zip(pairs, asked, strict=True):
        relations = [relation for _, relation in zip(passages, left, strict=False)]
        if not relations:
            break
        relation = strongest(relations)
        effect = effect_of(relations, reader.thresholds, older.statement, newer.statement)
        comparisons.append(Comparison(older.id, newer.id, relation.name, relation.update, effect, reader.version))
    return comparisons


def _may_be_compared(candidate: Candidate) -> bool:
    """Tell whether a candidate may be compared: if it was learned, only with its messages, read only for a model."""
    is_known = not candidate.learned or candidate.sources is not None
    return is_known and not candidate.expired and STORE_KEY not in candidate.metadata_json


async def _rerank(search: Search, query: Query, reranker: TenantReranker) -> Search:
    chosen = to_rate(search.fusion.ranked, collapse=query.collapse is not None)
    if not chosen:
        return search
    try:
        relevances = await reranker.rerank(query.text, [candidate.content for candidate in chosen])
    except Unavailable as error:
        return _without("reranker", error, search)
    relevance = {candidate.id: value for candidate, value in zip(chosen, relevances, strict=True)}
    return replace(search, relevance=succeeded(search.fusion.pool, relevance))


async def _read(search: Search, query: Query, reader: TenantReader) -> Search:
    fusion = search.fusion
    chosen = answering.to_read(fusion, collapse=query.collapse is not None, across=search.across)
    if not chosen:
        return search
    try:
        relevances = await reader.relevance(fusion.query.text, list(chosen.values()))
    except Unavailable as error:
        return _without("reader", error, search)
    relevance = dict(zip(chosen, relevances, strict=True))
    answering.leave_apart(fusion.pool, relevance)
    return replace(search, relevance=succeeded(fusion.pool, relevance), is_read=True)


async def _find_restatements(search: Search, query: Query, reader: TenantReader) -> Search:
    """Have the reader say which of the best candidates restate each other."""
    pairs = await asyncio.to_thread(restatements.pairs, search.ranking, query.most_entries)
    if not pairs:
        return search
    try:
        answers = await reader.relations(restatements.both_ways(pairs))
    except Unavailable as error:
        return _without("reader", error, search)
    return replace(search, restating=restatements.confirmed(pairs, answers))


def _without(model: Literal["reader", "reranker"], error: Unavailable, search: Search) -> Search:
    structlog.get_logger().warning(f"{model}_away", code=error.code, reason=error.detail)
    return replace(search, degraded=[*search.degraded, f"{model}_unavailable"])
