"""Work that waits for threads; tenants take turns (ADR 0020)."""

import threading
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

from app.domain.turns import TenantTurns

T = TypeVar("T")
Taken = tuple[str, T]
"""A tenant and its piece of work."""


class WorkQueue(Generic[T]):
    """Hands pieces of work to threads, one of each tenant after the other."""

    def __init__(self) -> None:
        """Begin empty."""
        self._turns: TenantTurns[T] = TenantTurns()
        self._lock = threading.Lock()
        self._bell: SimpleQueue[None] = SimpleQueue()
        """Rung for each piece of work. A condition would wake a thread only to let it wait for the lock."""
        self.closed = False
        """Whether no more work will come."""

    def __bool__(self) -> bool:
        """Whether any work waits."""
        return bool(self._turns)

    def lag(self, tenant_id: str) -> float:
        """Return how many seconds work of the tenant waits, as ``TenantTurns.lag`` says."""
        return self._turns.lag(tenant_id)

    def put(self, tenant_id: str, work: T) -> None:
        """Let a piece of work wait for its tenant's turn."""
        with self._lock:
            self._turns.put(tenant_id, work)
        self._bell.put(None)

    def put_first(self, taken: Sequence[Taken[T]]) -> None:
        """Let work that was taken and not reached wait before all other work, in its order."""
        with self._lock:
            for tenant_id, work in reversed(taken):
                self._turns.put_first(tenant_id, work)
        self._bell.put(None)

    def take(self, most: int) -> list[Taken[T]]:
        """Wait for work, and return at most ``most`` pieces of it; an empty list once the queue is closed and empty."""
        taken: list[Taken[T]] = []
        while not taken and not (self.closed and not self._turns):
            self._bell.get()
            taken = self.take_at_once(most)
        if self.closed:
            self._bell.put(None)  # for the other threads
        return taken

    def take_at_once(self, most: int) -> list[Taken[T]]:
        """Return at most ``most`` pieces of the work that waits; an empty list where no work waits."""
        taken: list[Taken[T]] = []
        with self._lock:
            while len(taken) < most and (next_ := self._turns.take()) is not None:
                taken.append(next_)
        return taken

    def close(self) -> None:
        """Let the threads end once all work is done."""
        self.closed = True
        self._bell.put(None)
