"""Keeps this process's share of Cloudflare's rate limit, which the replicas divide among themselves (ADR 0040)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Protocol

import structlog

from app.domain.errors import DatabaseUnavailable
from app.ports.database import Database
from app.runtime.periodic import attempt, stop
from app.storage.system import call_shares
from app.storage.system.call_shares import CallLimits, CallReport

LEASE = 3 / 20
"""The part of a window for which a share is leased, even if the replica has gone."""
RENEWAL = 1 / 20
"""The part of a window after which a share is renewed; a renewal comes earlier where calls wait for it."""
_AGAIN = 1 / 60
"""The part of a window after which a renewal that has failed is tried again at the earliest."""


class LeasedBudget(Protocol):
    """The budget of calls that processes divide (``app.adapters.cloudflare.call_budget.CallBudget``)."""

    window: float
    of_command: bool
    """Whether a command makes the calls, and leaves them to requests where they are scarce."""

    @property
    def limit(self) -> int | None:
        """How many calls this process may make in a window; None: any number."""
        ...

    def lease(self, share: int, seconds: float, *, unreported: int) -> None:
        """Set this process's share for ``seconds``; until the next report it may make ``unreported`` calls."""
        ...

    def begin_report(self, most: int) -> int:
        """Make at most ``most`` calls until the report is answered; return how many calls the process may make."""
        ...

    def report_by(self, report: Callable[[], Awaitable[None]] | None) -> None:
        """Call ``report`` when calls have to wait for a report; None: such calls are refused."""
        ...

    def spent(self) -> Sequence[tuple[float, int]]:
        """Return the calls of this window by steps: how long ago, in seconds, and how many calls were made."""
        ...

    @property
    def lacks_calls(self) -> bool:
        """Whether this process lacks calls."""
        ...

    @property
    def probes(self) -> bool:
        """Whether Cloudflare blocks all calls, and a call that tests whether it still does is due."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessCalls:
    """The calls that a process may make of a service that limits all processes together."""

    admit: Callable[[str], None]
    """Lets a request of a tenant begin, or raises ``RateLimited``."""
    low: Callable[[], bool]
    """Tells whether background work waits, because few calls are left or requests are refused."""
    left: Callable[[], float] = lambda: inf
    """Returns how many calls are left to this process; infinite where none are counted."""


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
        """Take the database that the replicas share, and the limits of calls of a window that they divide.

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
        """Lets one report run at a time: each begins where the report before ended."""
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
            Unavailable: this cannot be found out now.
        """
        if self._discover is not None:
            await self._discover()

    async def begin(self) -> None:
        """Lease a share, and keep it until ``end``.

        Raises:
            Unavailable: the database, or the service that ``discover`` asks, does not answer.
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
        """Report the calls that were made, and take the share that is due.

        Where no calls are counted there is nothing to report; then the only call is the one that tests, now and then,
        whether Cloudflare still blocks.

        Raises:
            Unavailable: the database does not answer. Until it does, only few more calls are made.
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
        """Give the share back; no call is made after this report.

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
        """Wait until the share is to be renewed; after a failure wait at least ``_AGAIN`` of a window."""
        if self._failed:
            await self._sleep(self._budget.window * _AGAIN)
            self._failed = False
        if self._budget.of_command:  # a renewal takes a call, and a command needs none before its calls have to wait
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
            DatabaseUnavailable: the renewal failed, now or a moment ago.
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
