"""A stand-in for Vectorize that shows what it has acknowledged late, and not in order."""

import heapq
import random
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from sys import maxsize

import numpy as np

from app.domain.embedding import EmbeddingConfig, Vector, same_text
from app.domain.errors import CursorExpired
from app.domain.json_types import Scalar
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.index_admin import Expected, IdPage, IndexRecord
from app.ports.vector_index import Hit, Hits, IndexedVector

_TOP_K = 100
_MARGIN_MS = 120_000
_SHOWS_SECONDS = (5.0, 120.0)
_PAGE = 10
_EXPIRES = 0.02


@dataclass(order=True, slots=True)
class _Mutation:
    """One acknowledged call: ``None`` in place of a vector removes it. Times are those of the processing."""

    visible_at: int
    number: int
    acknowledged_at: int = field(compare=False)
    changes: Mapping[str, IndexedVector | None] = field(compare=False)


class LateIndex:
    """Exact search over what shows by now. Implements ``app.ports.vector_index.IndexAdmin``.

    A mutation shows 5 to 120 s of processing after its acknowledgement; of two for one id the one acknowledged
    last wins, whichever shows first. The watermark moves only when a mutation comes to show, as Vectorize's does.
    """

    backend = "late"
    visible_at_once = False
    confirm_seconds = 180.0
    removal_grace_ms = 60_000

    def __init__(
        self,
        config: EmbeddingConfig,
        clock: Callable[[], int],
        seeded: random.Random,
        *,
        filterable: Collection[str] = frozenset(),
    ) -> None:
        """Hold vectors of this embedding config; acknowledge by ``clock``; filter on some metadata keys."""
        self.filterable: Collection[str] | None = filterable
        self.shows_seconds = _SHOWS_SECONDS
        """How long after its acknowledgement a mutation shows, at least and at most."""
        self.loses = 0.0
        """The share of what it acknowledges that never shows."""
        self._config = config
        self._clock = clock
        self._random = seeded
        self._numbers = count(1)
        self._behind = 0
        self._stalls_end = 0
        self.lose_everything()

    def lose_everything(self) -> None:
        """Be as if made anew."""
        self._coming: list[_Mutation] = []
        self._vectors: dict[str, IndexedVector] = {}
        self._last: dict[str, int] = {}
        self._scopes: dict[Scope, tuple[list[str], Vector]] = {}
        self._acknowledged: list[tuple[int, int]] = []
        self._shown_up_to = 0
        self._listings: dict[str, list[str]] = {}

    def stall(self, seconds: float) -> None:
        """Process nothing for so long, and all that comes so much later; calls are taken all the same."""
        processed = self._processed()
        self._stalls_end = self._clock() + int(seconds * 1000)
        self._behind = self._stalls_end - processed

    @property
    def behind_seconds(self) -> float:
        """How much later it shows things than it would had it never stalled."""
        return self._behind / 1000

    @property
    def shown(self) -> Mapping[str, IndexedVector]:
        """What a query may find now."""
        self._settle()
        return self._vectors

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        del top_k
        pushed = [(key, value) for key, value in where.metadata.items() if key in (self.filterable or ())]
        ids, values = self._matrix(scope)
        scores = np.clip(values @ vector, -1, 1)
        best = [(ids[row], float(scores[row])) for row in np.argsort(-scores, kind="stable").tolist()]
        hits = [Hit(id_, score) for id_, score in best if self._passes(id_, pushed)][:_TOP_K]
        return Hits(hits, filtered=len(pushed) == len(where.metadata) or len(hits) < _TOP_K, more=False)

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        return self._acknowledge({vector.id: vector for vector in vectors})

    async def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        shown = self.shown
        return self._acknowledge({id_: None for id_ in ids if id_ not in shown or shown[id_].scope == scope})

    async def held(self, ids: Sequence[str]) -> Mapping[str, IndexRecord]:
        shown = self.shown
        return {
            id_: IndexRecord(shown[id_].scope, shown[id_].revision, self._config.label) for id_ in ids if id_ in shown
        }

    async def vectors(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        shown = self.shown
        return {id_: shown[id_].values for id_ in ids if id_ in shown and shown[id_].scope.tenant_id == tenant_id}

    async def agrees(self, expected: Sequence[Expected]) -> Mapping[str, bool]:
        shown = self.shown
        return {one.id: self._is_as(shown[one.id], one) for one in expected if one.id in shown}

    def _is_as(self, vector: IndexedVector, expected: Expected) -> bool:
        keys = self.filterable or ()
        filtered = [{key: given[key] for key in keys if key in given} for given in (vector.metadata, expected.metadata)]
        if (vector.scope, vector.created_at) != (expected.scope, expected.created_at) or filtered[0] != filtered[1]:
            return False
        return expected.values is None or same_text(vector.values, expected.values)

    async def list_ids(self, cursor: str | None = None) -> IdPage:
        """Return a page of what showed when the listing began; now and then a listing is no longer known."""
        name, _, offset = (cursor or f"{next(self._numbers)}:0").partition(":")
        if cursor is None:
            self._listings[name] = sorted(self.shown)
        elif name not in self._listings or self._random.random() < _EXPIRES:
            raise CursorExpired("The listing is no longer known.")
        rest = self._listings[name][int(offset) :]
        return IdPage(rest[:_PAGE], f"{name}:{int(offset) + _PAGE}" if len(rest) > _PAGE else None)

    async def sample(self, tenant_id: str, agent_id: str | None = None) -> Sequence[str]:
        scopes = {id_: vector.scope for id_, vector in self.shown.items()}
        found = [
            id_ for id_, scope in scopes.items() if scope.tenant_id == tenant_id and agent_id in {None, scope.agent_id}
        ]
        return found[:_TOP_K]

    async def destroy(self) -> None:
        self.lose_everything()

    async def watermark(self) -> int:
        """Return the last acknowledgement that the newest of what shows is two minutes of processing past."""
        self._settle()
        passed = bisect_right(self._acknowledged, (self._shown_up_to - _MARGIN_MS, maxsize))
        return self._acknowledged[passed - 1][1] if passed else 0

    async def ping(self) -> None:
        return

    def _acknowledge(self, changes: Mapping[str, IndexedVector | None]) -> int:
        at, processed = self._clock(), self._processed()
        self._acknowledged.append((processed, at))
        if self._random.random() < self.loses:
            return at
        visible_at = processed + int(self._random.uniform(*self.shows_seconds) * 1000)
        heapq.heappush(self._coming, _Mutation(visible_at, next(self._numbers), processed, changes))
        return at

    def _settle(self) -> None:
        """Show what is to be seen by now."""
        while self._coming and self._coming[0].visible_at <= self._processed():
            mutation = heapq.heappop(self._coming)
            self._shown_up_to = max(self._shown_up_to, mutation.acknowledged_at)
            for id_, vector in mutation.changes.items():
                if mutation.number > self._last.get(id_, 0):
                    self._last[id_] = mutation.number
                    self._show(id_, vector)

    def _processed(self) -> int:
        """Return how far the index's processing is, by its own count: it stands still during a stall."""
        return max(self._clock(), self._stalls_end) - self._behind

    def _passes(self, id_: str, wanted: Sequence[tuple[str, Scalar]]) -> bool:
        metadata = self._vectors[id_].metadata
        return all(metadata.get(key) == value for key, value in wanted)

    def _show(self, id_: str, vector: IndexedVector | None) -> None:
        before = self._vectors.pop(id_, None)
        if vector is not None:
            self._vectors[id_] = vector
        for changed in (before, vector):
            if changed is not None:
                self._scopes.pop(changed.scope, None)

    def _matrix(self, scope: Scope) -> tuple[list[str], Vector]:
        self._settle()
        if scope not in self._scopes:
            vectors = [vector for vector in self._vectors.values() if vector.scope == scope]
            values = np.array([vector.values for vector in vectors], np.float32)
            self._scopes[scope] = [vector.id for vector in vectors], values.reshape(-1, self._config.dimensions)
        return self._scopes[scope]
