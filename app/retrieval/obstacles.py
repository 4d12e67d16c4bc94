"""Explains why a memory is not among the entries: the first obstacle, and the query that would take it away."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

from app.domain.json_types import Json, Scalar
from app.domain.limits import MAX_TOP_K, MAX_TOP_K_OF_TOOLS
from app.domain.query import Filter, Query
from app.retrieval.pool import Candidate
from app.retrieval.search import Search
from app.retrieval.selection import tokens

Obstacle: TypeAlias = Literal[
    "expired", "forgotten", "as_of", "superseded", "filter", "collapse", "min_score", "max_tokens", "rank"
]
"""What keeps a memory out; obstacles are looked for in this order.

``as_of``: the memory happened later than the query's ``as_of``; ``superseded``: another memory states what held then;
``rank``: other memories are better."""


def obstacle(search: Search, query: Query, memory: Candidate) -> Obstacle | None:
    """Return the first obstacle that keeps the memory out; None where the memory is an entry."""
    what = _obstacle_before_ranking(query, memory)
    if what is not None:
        return what
    if not _is_in(memory, search.eligible(replace(query, min_score=0.0))):
        return "collapse"
    if search.score(memory, query) < query.min_score:
        return "min_score"
    shaped = list(search.ranked(query))
    if not _is_in(memory, shaped):  # without a limit of tokens, the limit is on the bytes of all entries
        return "max_tokens" if query.max_tokens is not None or _place(search, query, memory) <= query.top_k else "rank"
    return None if _is_in(memory, shaped[: query.top_k]) and not memory.added else "rank"


def _obstacle_before_ranking(query: Query, memory: Candidate) -> Obstacle | None:
    if memory.expired:
        return "expired"
    if memory.forgotten:
        return "forgotten"
    if query.as_of is not None and memory.happened_at > query.as_of:
        return "as_of"
    if memory.superseded:
        return "superseded"
    return None if failing(query.where, memory) == Filter() else "filter"


def relaxed(search: Search, query: Query, memory: Candidate, what: Obstacle) -> Query | None:
    """Return the query with the least change that takes the obstacle away; None where no change does."""
    match what:
        case "as_of" | "superseded":  # a memory holds from the moment at which it happened
            return replace(query, as_of=memory.happened_at)
        case "filter":
            return replace(query, where=_without(query.where, failing(query.where, memory)))
        case "collapse":
            return replace(query, collapse=None)
        case "min_score":
            return replace(query, min_score=math.floor(search.score(memory, query) * 1000) / 1000)
        case "max_tokens":
            before = list(search.eligible(query))
            needed = sum(tokens(candidate.content) for candidate in before[: before.index(memory) + 1])
            return replace(query, max_tokens=needed)
        case _:
            return _with_more_entries(search, query, memory)


def _with_more_entries(search: Search, query: Query, memory: Candidate) -> Query | None:
    """Return the query with the ``top_k`` that reaches the memory; None where no allowed ``top_k`` does."""
    if memory.added or memory.expired or memory.forgotten:
        return None
    place = _place(search, query, memory)
    return replace(query, top_k=place) if place <= (MAX_TOP_K_OF_TOOLS if query.for_model else MAX_TOP_K) else None


def failing(where: Filter, memory: Candidate) -> Filter:
    """Return the conditions that the memory does not meet, among those that a caller of an explanation can set."""
    after, before = where.created_after, where.created_before
    metadata = memory.metadata
    unlike = {
        key: value for key, value in where.metadata.items() if key not in metadata or not _same(metadata[key], value)
    }
    return Filter(
        created_after=after if after is not None and memory.created_at <= after else None,
        created_before=before if before is not None and memory.created_at >= before else None,
        metadata=unlike,
    )


def _place(search: Search, query: Query, memory: Candidate) -> int:
    """Return the memory's rank among the candidates that may be entries, from 1, whatever their size."""
    return 1 + list(search.eligible(query)).index(memory)


def _without(where: Filter, failing_: Filter) -> Filter:
    return replace(
        where,
        created_after=None if failing_.created_after is not None else where.created_after,
        created_before=None if failing_.created_before is not None else where.created_before,
        metadata={key: value for key, value in where.metadata.items() if key not in failing_.metadata},
    )


def _same(metadata: Json, wanted: Scalar) -> bool:
    """Tell whether two JSON values are equal: 1 equals 1.0, and neither equals true."""
    return isinstance(metadata, bool) == isinstance(wanted, bool) and metadata == wanted


def _is_in(memory: Candidate, candidates: Iterable[Candidate]) -> bool:
    return any(candidate.id == memory.id for candidate in candidates)
