"""Counts calls of Cloudflare's API, which allows so many per user and five minutes and then refuses everything.

Past 1,200 calls in 300 seconds Cloudflare blocks all of a user's calls for five minutes, including those of the
dashboard (https://developers.cloudflare.com/fundamentals/api/reference/limits/). See ADR 0040.
"""

import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import structlog

from app.domain.errors import CloudflareBlocks, DatabaseUnavailable, RateLimited

WINDOW_SECONDS = 300.0
RESERVE = 20
"""Calls of a window that are not divided: those of processes that have no share yet, which make about ten to start."""
UNLEASED = 150
"""Calls of a window that a process may make before it has leased a share.

It migrates the database first: on an empty one this takes a few calls, on an older one a call for each migration that
it lacks, and three where another process does the same at the same time.
"""
FOR_COMMANDS = 80
"""Calls of a window that servers leave to commands: 1,100 of Cloudflare's 1,200 leave room for them.

Commands that lease shares divide them. One that leases none may make as many, which nobody else sees: where it makes
all of them there is room for it only while no other command runs.
"""
_PART_FOR_COMMANDS = 1 / 12
"""Of a limit that is smaller, commands have no more than this part."""
_REQUESTS_SHARE = 0.25
"""The part of the calls of a window that background work, such as calls of language models, leaves to requests."""
_LOW = 0.1
"""The part of the calls of a window below which no background work begins."""
_OF_LATE = 0.2
"""The part of a window for which a process that has refused something counts as one that lacks calls."""
_UNPLANNED = 0.01
"""The part of a window that is not planned with: for what was promised, and comes a little late."""
_FOR_REPORTS = 1
"""Of the calls that may be made before a report: so many are left to the report itself, which is a call too."""
_PROBE = 1 / 10
"""Of a window: how often a call is made while Cloudflare blocks, to see whether it still does."""
_PROBED = 1 / 60
"""Of a window: by when such a call was made and answered."""
_STEPS = 30
"""A window has so many steps, by which calls are reported, and looked ahead."""


def for_commands(limit: int) -> int:
    """Return how many calls of a window commands have for themselves, beyond the limit that all processes divide."""
    return min(FOR_COMMANDS, int(limit * _PART_FOR_COMMANDS))


class CallBudget:
    """Allows at most ``limit`` calls in any ``window`` seconds, and while Cloudflare blocks one in a tenth of it.

    Where processes share the limit, ``lease`` sets this one's share of it, and how much of that it may spend before it
    reports again. Once a lease has ended, another process may have the share: no call is made before the next lease.
    """

    of_command = False

    def __init__(
        self,
        limit: int | None,
        *,
        window: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        unleased: int | None = None,
    ) -> None:
        """Take the calls of a window of all processes; None counts no calls and only respects blocks.

        ``unleased``: before its first lease this process may make so many of them; None: all.
        """
        self.window = window
        self._clock = clock
        self._total = limit
        self._share = limit if limit is None or unleased is None else min(limit, unleased)
        self._lease_ends = math.inf
        """Infinite before the first lease."""
        self._passed: deque[float] = deque()
        self._blocked_until = -math.inf
        self._probe_at = math.inf
        """When the next call is made that finds out whether Cloudflare still blocks."""
        self._probing = False
        """Whether such a call is under way."""
        self._refused_at = -math.inf
        self._made = 0
        self._reported = 0
        """How many calls had been made when it last began to report."""
        self._unreported_ends: float = math.inf
        """How many calls may have been made before the next report; infinite before the first lease."""
        self._report: Callable[[], Awaitable[None]] | None = None
        self._announced: dict[str, tuple[float, int, int]] = {}
        """By policy: when its window ends, how many calls this process had made, and how many were left to all."""

    @property
    def limit(self) -> int | None:
        """How many calls this process may make in a window; None: any number."""
        return None if self._total is None else self._share

    @property
    def low(self) -> bool:
        """Whether so little is left that background work waits."""
        limit = self.limit
        return self._clock() < self._blocked_until or (limit is not None and self.left() <= limit * _LOW)

    async def admit(self) -> None:
        """Wait until ``take`` may spend a call, or raises for want of one.

        Here it waits while this process reports what it has spent and renews its lease, if it may make no call before.

        Raises:
            CloudflareBlocks: Cloudflare blocks.
            Unavailable: it cannot report now.
        """
        while self._report is not None and self.limit is not None and not self._may_call_unreported:
            if self.left() < 1:
                return
            self.refuse()  # it spends faster than the share lasts, or its lease has ended
            try:
                await self._report()
            finally:
                self.check_block()

    def take(self, *, background: bool = False) -> None:
        """Spend one call; ``background``: one that leaves a quarter of the window's calls to requests.

        Raises:
            CloudflareBlocks: Cloudflare blocks; it says when the block ends.
            RateLimited: the share is used up; it says when a call is allowed again.
            DatabaseUnavailable: the process has to report first (``admit``).
        """
        now = self._clock()
        self.check_block()
        limit = self.limit
        if limit is None:
            return
        reserve = math.ceil(limit * _REQUESTS_SHARE) if background else 0
        if self.left() <= reserve:
            if not background:
                self.refuse()
            what = "what it leaves to background work" if background else "share"
            wait = max(1, math.ceil(self.frees_in(1 + reserve)))
            raise RateLimited(f"This service's {what} of Cloudflare's rate limit is used up.", retry_after=wait)
        if not self._may_call_unreported:
            raise DatabaseUnavailable("This process has to report its Cloudflare calls before it makes another one.")
        self._passed.append(now)
        self._made += 1

    def record(self) -> None:
        """Count a call that is made even if nothing is left, because it asks for this process's share.

        While Cloudflare blocks, one in a while is made all the same: a block may be over before its time, and a single
        refusal may have been no block at all. ``answered`` ends the block.

        Raises:
            CloudflareBlocks: Cloudflare blocks, and the next such call is not due.
        """
        now = self._clock()
        if self.probes:
            self._probe_at = now + self.window * _PROBE
            self._probing = True
        else:
            self.check_block()
        if self.limit is None:
            return
        self._passed.append(self._clock())
        self._made += 1

    def block(self, seconds: float) -> None:
        """Refuse every call for so long, because Cloudflare blocks."""
        structlog.get_logger().error("cloudflare_blocks", seconds=seconds)
        now = self._clock()
        self._blocked_until = max(self._blocked_until, now + seconds)
        self._probe_at, self._probing = now + self.window * _PROBE, False

    @property
    def probes(self) -> bool:
        """Whether Cloudflare blocks, and a call is due that finds out whether it still does (``record``)."""
        return self._probe_at <= self._clock() < self._blocked_until

    def answered(self) -> None:
        """Note that a call was answered that ``record`` has counted: if it was a probe, the block is over."""
        if self._probing:
            structlog.get_logger().info("cloudflare_blocks_no_more")
            self._blocked_until, self._probing = -math.inf, False

    def record_announced_limit(self, policy: str, remaining: int, reset_seconds: int) -> None:
        """Record what Cloudflare says in an answer: all users of the token have so many calls left until a reset.

        It corrects what is counted here, because others, such as the dashboard, spend calls too.
        """
        now = self._clock()
        if 0 < reset_seconds <= self.window:
            self._announced[policy] = now + reset_seconds, self._made, remaining

    def lease(self, share: int, seconds: float, *, unreported: int) -> None:
        """Set this process's share of the limit for so many seconds, as the answer to a report.

        ``unreported``: so many calls it may make from the beginning of that report until the next one.
        """
        now = self._clock()
        self._share = share
        self._lease_ends = now + seconds
        self._unreported_ends = self._reported + unreported

    def begin_report(self, most: int) -> int:
        """Make no more than ``most`` calls until the report that begins now is answered; return how many it may be.

        Until then this process does not know which share and which report the others see. With so few calls it stays
        within all that they may see.
        """
        calls = int(max(0, min(most, self.left(), self._unreported_left)))
        self._reported = self._made
        if self._unreported_ends < math.inf:
            self._unreported_ends = self._made + calls
        return calls

    def report_by(self, report: Callable[[], Awaitable[None]] | None) -> None:
        """Report in this way when calls have to wait for it; None: in no way, such calls are refused."""
        self._report = report

    def stop_counting(self) -> None:
        """Count no calls from now on, whatever is leased, because they go where the limit does not hold."""
        self._total = None

    def spent(self) -> Sequence[tuple[float, int]]:
        """Return the calls of this window by steps, newest first: how old the newest is, in seconds, and how many."""
        now = self._clock()
        self._forget(now)
        steps: dict[int, list[float]] = {}
        for at in reversed(self._passed):
            steps.setdefault(int((now - at) * _STEPS / self.window), []).append(now - at)
        return [(min(ages), len(ages)) for ages in steps.values()]

    def refuse(self) -> None:
        """Note that a request was refused for want of calls."""
        self._refused_at = self._clock()

    @property
    def lacks_calls(self) -> bool:
        """Whether little is left, or calls were refused of late or came faster than the share lasts."""
        return self.low or self._clock() < self._refused_at + self.window * _OF_LATE

    def left(self) -> float:
        """Return how many calls are allowed now; infinite where no calls are counted."""
        now = self._clock()
        if now < self._blocked_until:
            return 0
        limit = self.limit
        if limit is None:
            return math.inf
        self._forget(now)
        return max(0, min(limit - len(self._passed), *(left for _, left in self._announced_left(now, limit)), limit))

    def frees_in(self, calls: int) -> float:
        """Return after how many seconds so many calls will be allowed, if none is made until then."""
        now, limit = self._clock(), self.limit
        if limit is None:
            return max(0.0, self._blocked_until - now)
        self._forget(now)
        too_many = min(len(self._passed) + calls - limit, len(self._passed))
        own = self._passed[too_many - 1] + self.window if too_many > 0 else now
        announced = max((ends for ends, left in self._announced_left(now, limit) if left < calls), default=now)
        return max(own, announced, self._blocked_until, now) - now

    def pace(self) -> float:
        """Return how many calls a second can be made from now on, so evenly that they need not stop for long.

        It is the least, over all times ahead, of what is left and what leaves the window until then.
        """
        now, limit = self._clock(), self.limit
        if limit is None:
            return math.inf
        left = self.left() - limit * _UNPLANNED
        step = self.window / _STEPS
        leaving = [0] * (_STEPS + 1)
        for at in self._passed:
            leaving[min(math.ceil((at + self.window - now) / step), _STEPS)] += 1
        least = math.inf
        for ahead, gone in enumerate(leaving):
            left += gone
            least = min(least, left / (ahead * step)) if ahead else least
        return max(0.0, least)

    def check_block(self) -> None:
        """Raise ``CloudflareBlocks`` while Cloudflare blocks; it says when to ask again."""
        if (wait := self.blocked_for()) > 0:
            raise CloudflareBlocks("Cloudflare has blocked all calls.", retry_after=wait)

    def blocked_for(self) -> int:
        """Return after how many seconds it is known again whether Cloudflare blocks: at the end, or by a probe before.

        Probes are made by who reports; where nobody does, it is the end.
        """
        now = self._clock()
        ends = self._blocked_until
        if now < ends and self._report is not None:
            ends = min(ends, max(self._probe_at, now) + self.window * _PROBED)
        return max(0, math.ceil(ends - now)) if ends > now else 0

    @property
    def _may_call_unreported(self) -> bool:
        return self._unreported_left > _FOR_REPORTS

    @property
    def _unreported_left(self) -> float:
        """How many calls may be made before the next report, which is one of them; infinite before the first lease."""
        return self._unreported_ends - self._made if self._clock() < self._lease_ends else 0

    def _announced_left(self, now: float, limit: int) -> Sequence[tuple[float, float]]:
        """Return when each window that Cloudflare announced ends, and what is left in it for this process."""
        self._announced = {policy: one for policy, one in self._announced.items() if one[0] > now}
        part = limit / self._total if self._total else 1.0
        return [
            (ends, remaining * part - (self._made - made))
            for ends, made, remaining in self._announced.values()
            if remaining * part < limit
        ]

    def _forget(self, now: float) -> None:
        while self._passed and self._passed[0] <= now - self.window:
            self._passed.popleft()
