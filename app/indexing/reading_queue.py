"""The memories that this process has stored and no reader has compared yet: they are read first, tenants in turn."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence

from app.domain.memory import Scope

MOST = 20_000
"""Memories that are noted at most. Further memories are found in the database."""

Waiting = tuple[Scope, str]
"""A memory's scope and its id."""


class ReadingQueue:
    """The memories of one shard that wait for the reader. A memory that the queue loses is found in the database."""

    def __init__(self, most: int = MOST) -> None:
        """Begin with no memories."""
        self._most = most
        self._of_tenants: OrderedDict[str, deque[Waiting]] = OrderedDict()
        self._count = 0
        self._noted = asyncio.Event()

    def __len__(self) -> int:
        """Return how many memories are noted."""
        return self._count

    def note(self, scope: Scope, ids: Sequence[str]) -> None:
        """Note memories that were stored just now; without room, the tenant with the most memories gives way."""
        self._make_room(scope.tenant_id, len(ids))
        for id_ in ids[: self._most - self._count]:
            self._of_tenants.setdefault(scope.tenant_id, deque()).append((scope, id_))
            self._count += 1
        if ids:
            self._noted.set()

    def _make_room(self, tenant_id: str, wanted: int) -> None:
        missing = wanted - (self._most - self._count)
        if missing <= 0:
            return
        longest = max(self._of_tenants.values(), key=len, default=deque())
        more = len(longest) - len(self._of_tenants.get(tenant_id, ()))
        for _ in range(min(missing, more // 2)):
            longest.pop()
            self._count -= 1

    def take(self, most: int) -> list[Waiting]:
        """Take the next memories, one memory of each tenant in turn."""
        taken: list[Waiting] = []
        while len(taken) < most and self._of_tenants:
            tenant_id, waiting = self._of_tenants.popitem(last=False)
            taken.append(waiting.popleft())
            if waiting:
                self._of_tenants[tenant_id] = waiting
        self._count -= len(taken)
        if not self._of_tenants:
            self._noted.clear()
        return taken

    async def wait(self, seconds: float) -> bool:
        """Wait until a memory is noted, for this many seconds at most; return whether a memory is noted."""
        try:
            async with asyncio.timeout(seconds):
                await self._noted.wait()
        except TimeoutError:
            return False
        return True
