"""Compares what the index shows of memories with the memories: by id, and through the filter that recalls use.

A vector may be there under its id and yet be found by no recall: Vectorize leaves it out of a metadata index that was
not ready when the vector was written. Writing it again cures that. Crosses tenants; no request imports it.
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby

import numpy as np

from app.domain.embedding import Vector
from app.domain.query import Filter
from app.ports.embedder import Embedder
from app.ports.index_admin import Expected, IndexAdmin

MAX_ASKED = 50
"""How many memories of a scope one query of the index looks for."""
_TOP_K = 100
"""Hits that Vectorize returns at once; a query that returns this many may have left out others."""
_MAX_IDS_PER_CALL = 20

Spend = Callable[[int], Awaitable[None]]
"""Waits until this many calls may be made."""


class VectorComparison:
    """Compares the vectors of one index. It makes a call for 20 memories, and one or more for each scope."""

    def __init__(self, index: IndexAdmin, embedder: Embedder, spend: Spend) -> None:
        """Take the index, the embedder of its config, and the function that waits for calls."""
        self._index = index
        self._embedder = embedder
        self._spend = spend
        self._probe = np.zeros(embedder.config.dimensions, np.float32)
        self._probe[0] = 1  # a unit vector, because cosine needs a direction

    async def compare(self, expected: Sequence[Expected]) -> tuple[list[str], list[str]]:
        """Return the ids of vectors that no search of their scope finds, and of vectors that are shown differently.

        ``expected`` has the memories of each scope together. An id that the index does not show is in neither list.

        Raises:
            Unavailable: the index does not answer.
        """
        if not expected:
            return [], []
        await self._spend(-(-len(expected) // _MAX_IDS_PER_CALL))
        agreement = await self._index.agrees(expected)
        shown = [one for one in expected if one.id in agreement]
        hidden: list[str] = []
        for _, scoped in groupby(shown, key=lambda one: one.scope):
            group = list(scoped)
            for start in range(0, len(group), MAX_ASKED):
                hidden += await self._hidden(group[start : start + MAX_ASKED])
        return hidden, [one.id for one in shown if not agreement[one.id]]

    async def _hidden(self, group: Sequence[Expected]) -> list[str]:
        """Return the ids of a scope that a search of their time does not find."""
        times = [one.created_at for one in group]
        hits = await self._search(group[0], self._probe, min(times), max(times))
        lost = [one for one in group if one.id not in hits]
        if not lost or len(hits) < _TOP_K:
            return [one.id for one in lost]
        await self._spend(-(-len(lost) // _MAX_IDS_PER_CALL))  # others are of the same time: each is looked for alone
        own = await self._index.vectors(lost[0].scope.tenant_id, [one.id for one in lost])
        return [
            one.id
            for one in lost
            if one.id in own and one.id not in await self._search(one, own[one.id], one.created_at, one.created_at)
        ]

    async def _search(self, of: Expected, vector: Vector, first: int, last: int) -> set[str]:
        await self._spend(1)
        where = Filter(created_after=first - 1, created_before=last + 1)
        hits = await self._index.query(of.scope, vector, top_k=_TOP_K, where=where)
        return {hit.id for hit in hits.hits}
