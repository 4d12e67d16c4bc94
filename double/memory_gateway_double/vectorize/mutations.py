"""Writes wait in a queue and show batch by batch, some time after they were acknowledged.

A batch takes what waits when it starts; what arrives while it runs waits for the next. Its effects show,
and the marks of ``info`` move, when it ends.
"""

import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from memory_gateway_double.clock import Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mutation(Generic[T]):
    """One acknowledged write."""

    id: str
    work: T


@dataclass(frozen=True, slots=True)
class Processed:
    """How far an index has come: the end of its last batch (seconds since the epoch), and the last write in it."""

    at: float
    mutation_id: str


@dataclass(frozen=True, slots=True)
class _Batch(Generic[T]):
    mutations: Sequence[Mutation[T]]
    ends: float


class MutationQueue(Generic[T]):
    """The writes of one index. It moves when it is looked at; not safe from two threads."""

    def __init__(
        self,
        clock: Clock,
        seconds: tuple[float, float],
        chance: random.Random,
        apply: Callable[[Sequence[T]], None],
    ) -> None:
        """Draw each batch's duration from the range; both ends 0 makes every write show at once.

        ``apply`` does the work of a batch, which ended at the moment that ``processed`` tells.
        """
        self._clock = clock
        self._seconds = seconds
        self._chance = chance
        self._apply = apply
        self._waiting: list[Mutation[T]] = []
        self._running: _Batch[T] | None = None
        self.processed: Processed | None = None

    def add(self, work: T) -> str:
        """Acknowledge a write and return its id."""
        mutation = Mutation(str(uuid.UUID(int=self._chance.getrandbits(128), version=4)), work)
        self.advance()
        self._waiting.append(mutation)
        if self._seconds == (0, 0):
            self.settle()
        elif self._running is None:
            self._start(self._clock.now())
        return mutation.id

    def advance(self) -> None:
        """Let every batch end whose time has come."""
        now = self._clock.now()
        while self._running is not None and self._running.ends <= now:
            ended = self._running
            self._finish(ended)
            if self._waiting:
                self._start(ended.ends)

    def settle(self) -> None:
        """End every batch now."""
        self.advance()
        now = self._clock.now()
        while self._running is not None or self._waiting:
            if self._running is None:
                self._start(now)
            if self._running is not None:
                self._finish(_Batch(self._running.mutations, now))

    def pending(self) -> int:
        """Return how many writes do not show yet."""
        self.advance()
        return len(self._waiting) + (len(self._running.mutations) if self._running is not None else 0)

    def _start(self, at: float) -> None:
        self._running = _Batch(self._waiting, at + self._chance.uniform(*self._seconds))
        self._waiting = []

    def _finish(self, batch: _Batch[T]) -> None:
        self._running = None
        self.processed = Processed(batch.ends, batch.mutations[-1].id)
        self._apply([mutation.work for mutation in batch.mutations])
