"""Keeps this process's share of Cloudflare's rate limit, which all replicas divide among them (ADR 0040)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

import structlog

from app.domain.errors import DatabaseUnavailable
from app.ports.database import Database
from app.runtime.periodic import attempt, stop
from app.storage.system import call_shares
from app.storage.system.call_shares import CallLimits, CallReport

LEASE = 3 / 20
"""The part of a window for which a share is leased, and that a replica that is gone keeps it for."""
RENEWAL = 1 / 20
"""The part of a window after which a share is renewed; earlier where calls wait for it."""
_AGAIN = 1 / 60
"""The part of a window after which a renewal that has failed is tried again, if calls wait for it."""


class LeasedBudget(Protocol):
    """What is divided (``app.adapters.cloudflare.call_budget.CallBudget``)."""

    window: float
    of_command: bool
    """Whether a command makes the calls, which leaves them to requests."""

    @property
    def limit(self) -> int | None:
        """How many calls this process may make in a window; None: any number."""
        ...

    def lease(self, share: int, seconds: float, *, unreported: int) -> None:
        """Set this process's share for so long, and how many calls it may make until the next report begins."""
        ...

    def begin_report(self, most: int) -> int:
        """Make no more calls than these until the report is answered; return how many it may be."""
        ...

    def report_by(self, report: Callable[[], Awaitable[None]] | None) -> None:
        """Report in this way when calls have to wait for it."""
        ...

    def spent(self) -> Sequence[tuple[float, int]]:
        """Return how long ago, in seconds, and how many calls were made in this window."""
        ...

    @property
    def lacks_calls(self) -> bool:
        """Whether it lacks calls."""
        ...

    @property
    def probes(self) -> bool:
        """Whether all calls are blocked, and one is due that finds out whether they still are."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessCalls:
    """What a process may call of a service that limits all processes together."""

    admit: Callable[[str], None]
    """Lets a request of a tenant begin, or raises ``RateLimited``."""
    low: Callable[[], bool]
    """Whether background work waits, because little is left or requests are refused."""


class CallShares:
    """Leases one process's share in the database. All shares together are never more than the limit."""

    def __init__(
        self,
        database: Database,
        budget: LeasedBudget,
        *,
        replica: str,
        limits: CallLimits,
        discover: Callable[[], Awaitable[object]] | None = None,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take the database that the replicas share, and the calls of a window that they divide.

        ``discover`` finds out, before the first share is leased, whether the budget counts calls at all.
        """
        self._database = database
        self._budget = budget
        self._replica = replica
        self._limits = limits
        self._discover = discover
        self._clock = clock
        self._sleep = sleep
        self._keeping: asyncio.Task[None] | None = None
        self._one = asyncio.Lock()
        """One report at a time: each begins where the one before ended."""
        self._wanted = asyncio.Event()
        self._done = asyncio.Event()
        self._failed = False

    @property
    def described(self) -> str:
        """This process's share, for operators."""
        if self._budget.limit is None:
            return "not counted"
        return f"{self._budget.limit} of {self._limits.calls} in {self._budget.window:.0f} s"

    async def discover(self) -> None:
        """Find out whether calls are counted at all, before the first one of the database.

        Raises:
            Unavailable: it cannot be told now.
        """
        if self._discover is not None:
            await self._discover()

    async def begin(self) -> None:
        """Lease a share, and keep it until ``end``.

        Raises:
            Unavailable: the database, or what ``discover`` asks, does not answer.
        """
        await self.discover()
        await self.renew()
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep(), name="call share")
            self._budget.report_by(self._renewed)

    async def end(self) -> None:
        """Give the share back. If the database does not answer, the share goes back when its lease ends."""
        if self._keeping is None:
            return
        self._budget.report_by(None)
        await stop([self._keeping])
        self._keeping = None
        self._done.set()
        await attempt(self.give_back, waits="call_share_left")

    async def renew(self) -> None:
        """Report what was spent, and take the share that is due. While Cloudflare blocks, it is asked now and then.

        Where no calls are counted there is nothing to report, and no other call is made.

        Raises:
            Unavailable: the database does not answer. Then few calls more are made, until it does.
        """
        if self._budget.limit is not None:
            async with self._one:
                await self._renew()
        elif self._budget.probes:
            await self._database.ping()

    async def _renew(self) -> None:
        seconds = self._budget.window * LEASE
        began = self._clock()
        report = self._report(meanwhile=call_shares.MEANWHILE)
        window_ms, lease_ms = int(self._budget.window * 1000), int(seconds * 1000)
        statements = call_shares.lease(report, self._limits, window_ms=window_ms, lease_ms=lease_ms)
        *_, void, rows = await self._database.run(statements)
        for row in void:
            structlog.get_logger().warning("lease_void", lease="calls", holder=row["replica"])
        share = call_shares.read_share(rows)
        took = self._clock() - began
        self._budget.lease(share.calls, seconds - took, unreported=share.unreported)

    async def give_back(self) -> None:
        """Give the share back; nothing more is called.

        Raises:
            Unavailable: the database does not answer.
        """
        if self._budget.limit is None:
            return
        self._budget.lease(0, self._budget.window * LEASE, unreported=0)
        gone_ms = int(self._budget.window * (1 + LEASE) * 1000)
        await self._database.run(call_shares.report(self._report(meanwhile=0), lease_ms=0, gone_ms=gone_ms))

    async def _keep(self) -> None:
        while True:
            await self._until_due()
            self._failed = not await attempt(self.renew, waits="call_share_waits")
            self._wanted.clear()
            self._done.set()
            self._done = asyncio.Event()

    async def _until_due(self) -> None:
        """Return when the share is to be renewed; after a failure no earlier than some time later."""
        if self._failed:
            await self._sleep(self._budget.window * _AGAIN)
            self._failed = False
        if self._budget.of_command:  # a renewal takes a call, and it has nobody to refuse before it has to wait
            await self._wanted.wait()
            return
        period = self._sleep(self._budget.window * RENEWAL)
        waits = [asyncio.ensure_future(each) for each in (period, self._wanted.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _renewed(self) -> None:
        """Renew the share at once, or wait for the renewal that is under way.

        Raises:
            DatabaseUnavailable: it failed, now or a moment ago.
        """
        if not self._failed:
            self._wanted.set()
            await self._done.wait()
        if self._failed:
            raise DatabaseUnavailable("This process's share of Cloudflare's calls cannot be renewed now.")

    def _report(self, *, meanwhile: int) -> CallReport:
        calls = self._budget.begin_report(meanwhile)
        spent = [(int(seconds * 1000), calls) for seconds, calls in self._budget.spent()]
        used = sum(each for _, each in spent) + calls
        return CallReport(self._replica, self._budget.of_command, self._budget.lacks_calls, spent, used)
