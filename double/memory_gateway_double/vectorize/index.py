"""One Vectorize index: what was written, what shows already, and the metadata indexes."""

import random
import threading
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_gateway_double.clock import Clock, timestamp
from memory_gateway_double.v4 import refused
from memory_gateway_double.vectorize import filters
from memory_gateway_double.vectorize.matrix import Stored, VectorMatrix
from memory_gateway_double.vectorize.mutations import MutationQueue
from memory_gateway_double.vectorize.records import Matrix, Vectors

METADATA_INDEX_NOT_FOUND = 40005
METADATA_INDEX_REFUSED = 40004
"""Not documented; guessed."""
VECTOR_NOT_FOUND = 40013
"""Not documented; guessed."""
INVALID_CURSOR = 40019
"""Not documented; guessed."""

_MAX_METADATA_INDEXES = 10
_SNAPSHOTS_KEPT = 16
_CURSOR_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Delays:
    """Ranges of seconds: how long a batch takes, and how long a metadata index that is listed takes to be ready."""

    batch: tuple[float, float]
    metadata_index: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Write:
    """Vectors to add; ``replace`` is what tells upsert from insert."""

    vectors: Vectors
    replace: bool


@dataclass(frozen=True, slots=True)
class Delete:
    """Vectors to take away."""

    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class Declare:
    """A metadata index to add, or with no ``kind`` to drop."""

    key: str
    kind: str | None


Work = Write | Delete | Declare


@dataclass(frozen=True, slots=True)
class Description:
    """What an index was created with; it cannot be changed."""

    name: str
    description: str
    dimensions: int
    metric: str
    created_on: str

    def as_json(self) -> dict[str, object]:
        """Write it as the API does."""
        return {
            "name": self.name,
            "description": self.description,
            "config": {"dimensions": self.dimensions, "metric": self.metric},
            "created_on": self.created_on,
            "modified_on": self.created_on,
        }


@dataclass(frozen=True, slots=True)
class Page:
    """A page of ids, from a snapshot that all pages of one chain share."""

    ids: list[str]
    total: int
    next_cursor: str | None
    expires: str | None


class Index:
    """Safe from any thread. Every read sees only what is processed."""

    def __init__(self, description: Description, clock: Clock, delays: Delays, seed: int, *, approximate: bool) -> None:
        """Start empty; batches and metadata indexes take as long as the delays say, by the clock."""
        self.description = description
        self._clock = clock
        self._approximate = approximate
        self._lock = threading.RLock()
        self._vectors = VectorMatrix(description.dimensions, description.metric, seed)
        self._declared: dict[str, str] = {}
        self._ready_at: dict[str, float] = {}
        self._delays = delays
        self._asked: dict[str, str] = {}
        self._snapshots: OrderedDict[str, tuple[float, list[str]]] = OrderedDict()
        self._chance = random.Random(f"{seed}/{description.name}")  # noqa: S311 - no secret
        self._queue: MutationQueue[Work] = MutationQueue(clock, delays.batch, self._chance, self._apply)

    def write(self, work: Work) -> str:
        """Acknowledge a write and return its id.

        Raises:
            Refusal: a metadata index cannot be added, or is not there to be dropped.
        """
        with self._lock:
            if isinstance(work, Declare):
                self._ask(work)
            return self._queue.add(work)

    def settle(self) -> None:
        """Make every acknowledged write show, and every metadata index ready, now."""
        with self._lock:
            self._queue.settle()
            self._ready_at = dict.fromkeys(self._declared, 0.0)

    def pending(self) -> int:
        """Return how many writes do not show yet."""
        with self._lock:
            return self._queue.pending()

    def info(self) -> dict[str, object]:
        """Return what ``info`` tells; the marks are absent until something was processed."""
        with self._lock:
            self._queue.advance()
            told: dict[str, object] = {"dimensions": self.description.dimensions, "vectorCount": len(self._vectors)}
            if (processed := self._queue.processed) is not None:
                told["processedUpToDatetime"] = timestamp(processed.at)
                told["processedUpToMutation"] = processed.mutation_id
            return told

    def declared(self) -> Mapping[str, str]:
        """Return the metadata indexes that are listed by now; they may not be ready yet."""
        with self._lock:
            self._queue.advance()
            return dict(self._declared)

    def get(self, ids: Sequence[str]) -> list[tuple[Stored, Matrix]]:
        """Return the vectors that are there, with their values."""
        with self._lock:
            self._queue.advance()
            found = [stored for id_ in dict.fromkeys(ids) if (stored := self._vectors.get(id_)) is not None]
            return [(stored, self._vectors.values(stored)) for stored in found]

    def search(
        self, vector: Matrix | str, top_k: int, where: object, namespace: str | None, *, exact: bool
    ) -> list[tuple[Stored, float, Matrix | None]]:
        """Return the best vectors with their scores, and with their values where ``exact``.

        Raises:
            Refusal: the filter breaks a rule, or the vector is an id that is not there.
        """
        with self._lock:
            self._queue.advance()
            conditions = filters.read(where, self._declared)
            if isinstance(vector, str):
                stored = self._vectors.get(vector)
                if stored is None:
                    raise refused(400, VECTOR_NOT_FOUND, f'vector with id "{vector}" not found')
                vector = self._vectors.values(stored)
            exact_scores = exact or not self._approximate
            hits = self._vectors.search(vector, top_k, conditions, namespace, exact=exact_scores)
            return [(stored, score, self._vectors.values(stored) if exact else None) for stored, score in hits]

    def shown(self, stored: Stored) -> dict[str, Any]:
        """Return what ``returnMetadata: indexed`` shows of a vector."""
        with self._lock:
            return dict(filters.shown(stored.given.metadata, self._declared))

    def page(self, count: int, cursor: str | None) -> Page:
        """Return the next ids after the cursor, or the first of a new snapshot.

        Raises:
            Refusal: the cursor is unknown or has expired.
        """
        with self._lock:
            self._queue.advance()
            key, start, (expires, ids) = self._snapshot(cursor)
            shown = ids[start : start + count]
            more = start + count < len(ids)
            next_cursor = f"{key}:{start + count}" if more else None
            return Page(shown, len(ids), next_cursor, timestamp(expires) if more else None)

    def _snapshot(self, cursor: str | None) -> tuple[str, int, tuple[float, list[str]]]:
        now = self._clock.now()
        if cursor is None:
            key = uuid.uuid4().hex
            self._snapshots[key] = (now + _CURSOR_SECONDS, self._vectors.ids())
            while len(self._snapshots) > _SNAPSHOTS_KEPT:
                self._snapshots.popitem(last=False)
            return key, 0, self._snapshots[key]
        key, _, start = cursor.partition(":")
        snapshot = self._snapshots.get(key)
        if snapshot is None or not start.isdecimal() or snapshot[0] < now:
            raise refused(400, INVALID_CURSOR, "the cursor is invalid or has expired")
        return key, int(start), snapshot

    def _ask(self, work: Declare) -> None:
        if work.kind is None:
            if self._asked.pop(work.key, None) is None:
                raise refused(404, METADATA_INDEX_NOT_FOUND, f'metadata index for "{work.key}" not found')
            return
        if self._asked.get(work.key, work.kind) != work.kind:
            message = f'metadata index for "{work.key}" exists with another type'
            raise refused(400, METADATA_INDEX_REFUSED, message)
        if work.key not in self._asked and len(self._asked) >= _MAX_METADATA_INDEXES:
            message = f"too many metadata indexes; max is {_MAX_METADATA_INDEXES}"
            raise refused(400, METADATA_INDEX_REFUSED, message)
        self._asked[work.key] = work.kind

    def _apply(self, batch: Sequence[Work]) -> None:
        """Do a batch's writes in order. A metadata index is ready for a batch some time after the one that made it.

        A vector of an earlier batch is not in it, and is never found through it, until it is written again.
        """
        at = 0.0 if self._queue.processed is None else self._queue.processed.at
        declared = {key: kind for key, kind in self._declared.items() if self._ready_at[key] <= at}
        for work in batch:
            if isinstance(work, Delete):
                for id_ in work.ids:
                    self._vectors.remove(id_)
            elif isinstance(work, Write):
                self._put(work, declared)
            elif work.kind is not None:
                self._declared[work.key] = work.kind
                self._ready_at.setdefault(work.key, at + self._chance.uniform(*self._delays.metadata_index))
            else:
                self._declared.pop(work.key, None)
                self._ready_at.pop(work.key, None)
                declared.pop(work.key, None)
                self._vectors.forget_property(work.key)

    def _put(self, work: Write, declared: Mapping[str, str]) -> None:
        for given, values in zip(work.vectors.given, work.vectors.values, strict=True):
            if work.replace or self._vectors.get(given.id) is None:
                self._vectors.put(given, values, declared)
