"""Keeps this process's share of Cloudflare's rate limit, which all replicas divide among them (ADR 0040)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from app.ports.database import Database
from app.runtime.attempts import attempt
from app.storage.system import call_shares
from app.storage.system.call_shares import CallReport

_LEASE = 1 / 5
"""The part of a window for which a share is leased, and that a replica that is gone keeps it for."""
_RENEWAL = 1 / 15
_MEANWHILE = 1 / 20
"""The part of the limit that may be called while a renewal is under way."""


class LeasedBudget(Protocol):
    """What is divided (``app.adapters.cloudflare.call_budget.CallBudget``)."""

    window: float

    @property
    def limit(self) -> int | None:
        """How many calls this process may make in a window; None: any number."""
        ...

    def lease(self, share: int, seconds: float) -> None:
        """Set this process's share for so long."""
        ...

    def bound(self, share: int) -> None:
        """Lower the share for now."""
        ...

    def left(self) -> float:
        """Return how many calls are allowed now."""
        ...

    def spent(self) -> Sequence[tuple[float, int]]:
        """Return how long ago, in seconds, and how many calls were made in this window."""
        ...

    @property
    def hungry(self) -> bool:
        """Whether a call was refused of late."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessCalls:
    """What a process may call of a service that limits all processes together."""

    admit: Callable[[str], None]
    """Lets a tenant's request begin, or raises ``RateLimited``."""
    low: Callable[[], bool]
    """Whether so little is left that background work waits."""


class CallShares:
    """Leases one process's share in the database. All shares together are never more than the limit."""

    def __init__(
        self,
        database: Database,
        budget: LeasedBudget,
        *,
        replica: str,
        limit: int,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take the database that the replicas share, and the calls of a window that they divide."""
        self._database = database
        self._budget = budget
        self._replica = replica
        self._limit = limit
        self._clock = clock
        self._sleep = sleep
        self._keeping: asyncio.Task[None] | None = None

    @property
    def described(self) -> str:
        """This process's share, for operators."""
        if self._budget.limit is None:
            return "not counted"
        return f"{self._budget.limit} of {self._limit} in {self._budget.window:.0f} s"

    async def begin(self) -> None:
        """Lease a share, and keep it until ``end``.

        Raises:
            Unavailable: the database does not answer.
        """
        await self.renew()
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep(), name="call share")

    async def end(self) -> None:
        """Give the share back. If the database does not answer, the share goes back when its lease ends."""
        if self._keeping is None:
            return
        self._keeping.cancel()
        with suppress(asyncio.CancelledError):
            await self._keeping
        self._keeping = None
        await attempt(self.give_back, waits="call_share_left")

    async def renew(self) -> None:
        """Report what was spent, and take the share that is due. Where no calls are counted, do nothing.

        Raises:
            Unavailable: the database does not answer. Then the share stays at what was spent, until its lease ends.
        """
        if self._budget.limit is None:
            return
        seconds = self._budget.window * _LEASE
        began = self._clock()
        report = self._report(meanwhile=self._limit * _MEANWHILE)
        # Where the answer is lost, the database may know of a smaller share than this process: it is never below this.
        self._budget.bound(report.used)
        window_ms, lease_ms = int(self._budget.window * 1000), int(seconds * 1000)
        statements = call_shares.lease(report, limit=self._limit, window_ms=window_ms, lease_ms=lease_ms)
        *_, rows = await self._database.run(statements)
        self._budget.lease(call_shares.read_share(rows).calls, seconds - (self._clock() - began))

    async def give_back(self) -> None:
        """Give the share back; nothing more is called.

        Raises:
            Unavailable: the database does not answer.
        """
        if self._budget.limit is None:
            return
        self._budget.bound(0)
        gone_ms = int(self._budget.window * (1 + _LEASE) * 1000)
        await self._database.run(call_shares.report(self._report(meanwhile=0), lease_ms=0, gone_ms=gone_ms))

    async def _keep(self) -> None:
        while True:
            await self._sleep(self._budget.window * _RENEWAL)
            await attempt(self.renew, waits="call_share_waits")

    def _report(self, *, meanwhile: float) -> CallReport:
        spent = [(int(seconds * 1000), calls) for seconds, calls in self._budget.spent()]
        used = sum(calls for _, calls in spent) + int(min(meanwhile, self._budget.left()))
        return CallReport(self._replica, self._budget.hungry, spent, used)
