"""Has the best candidates of a recall rated by a reranker or a reader, and goes on without where none is there."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import structlog

from app.domain.errors import Unavailable, UpstreamTimeout
from app.domain.query import Query
from app.ports.reranker import Reranker
from app.retrieval import answering
from app.retrieval.reranking import to_rate
from app.retrieval.search import Search
from app.retrieval.succession import succeeded
from app.services.models.reader import TenantReader
from app.services.turns.shares import Shares


class TenantReranker:
    """A reranker as one tenant's recalls see it: within the tenant's share, and within a deadline."""

    def __init__(self, tenant_id: str, reranker: Reranker, shares: Shares, seconds: float) -> None:
        """Bind the tenant; ``seconds`` is how long a recall waits, for its turn and for the answer together."""
        self._tenant_id = tenant_id
        self._reranker = reranker
        self._shares = shares
        self._seconds = seconds

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the relevance of each text, 0 to 1, in the texts' order; see ``Reranker.rerank``.

        Raises:
            Unavailable: the reranker is away, or there was no answer in time.
        """
        try:
            seconds = await self._shares.acquire_within(self._tenant_id, 1, self._seconds)
        except TimeoutError as error:
            raise UpstreamTimeout("Earlier recalls of the tenant kept the reranker busy.") from error
        try:
            return await self._reranker.rerank(query, texts, tenant_id=self._tenant_id, seconds=seconds)
        finally:
            self._shares.release(self._tenant_id, 1)


async def rated(search: Search, query: Query, reranker: TenantReranker | None, reader: TenantReader | None) -> Search:
    """Return the search with the ratings of its best candidates, or as it was where there are none.

    Who sets a reranker is rated by it. Where what rates is away, ``degraded`` says so.
    """
    if reranker is not None:
        return await _reranked(search, query, reranker)
    return search if reader is None else await _read(search, query, reader)


async def _reranked(search: Search, query: Query, reranker: TenantReranker) -> Search:
    chosen = to_rate(search.fusion.ranked, collapse=query.collapse)
    if not chosen:
        return search
    try:
        relevances = await reranker.rerank(query.text, [candidate.content for candidate in chosen])
    except Unavailable as error:
        return _without(search, "reranker", error)
    relevance = {candidate.id: value for candidate, value in zip(chosen, relevances, strict=True)}
    return replace(search, relevance=succeeded(search.fusion.pool, relevance))


async def _read(search: Search, query: Query, reader: TenantReader) -> Search:
    chosen = answering.to_read(search.fusion, collapse=query.collapse)
    if not chosen:
        return search
    try:
        relevances = await reader.relevance(search.fusion.query.text, list(chosen.values()))
    except Unavailable as error:
        return _without(search, "reader", error)
    relevance = dict(zip(chosen, relevances, strict=True))
    answering.leave_apart(search.fusion.pool, relevance)
    return replace(search, relevance=succeeded(search.fusion.pool, relevance), is_read=True)


def _without(search: Search, what: Literal["reranker", "reader"], error: Unavailable) -> Search:
    structlog.get_logger().warning(f"{what}_away", code=error.code, reason=error.detail)
    return replace(search, degraded=list(dict.fromkeys([*search.degraded, f"{what}_unavailable"])))
