"""Counts calls of Cloudflare's API, which allows a number per user and five minutes and then refuses every call.

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
"""Calls of a window that are not divided: they are for processes without a share, which make about ten to start."""
UNLEASED = 150
"""Calls of a window that a process may make before it has leased a share.

The process migrates the database first: an empty database takes a few calls, an older one a call for each migration
that it lacks, and three where another process does the same at the same time.
"""
FOR_COMMANDS = 80
"""Calls of a window that servers leave to commands: 1,100 of Cloudflare's 1,200 leave room for them.

Commands that lease shares divide these calls. A command without a lease may make as many, which no other process sees:
where it makes all of them, there is room only while no other command runs.
"""
_PART_FOR_COMMANDS = 1 / 12
"""The part of a smaller limit that commands have at most."""
_REQUESTS_SHARE = 0.25
"""The part of the calls of a window that background work, such as calls of language models, leaves to requests."""
_LOW = 0.1
"""The part of the calls of a window below which no background work begins."""
_OF_LATE = 0.2
"""The part of a window for which a process lacks calls (``lacks_calls``) after it has refused a request."""
_UNPLANNED = 0.01
"""The part of a window's calls that ``pace`` leaves out: promised requests may come a little late."""
_FOR_REPORTS = 1
"""Of the calls before a report, the number that is left to the report itself, which is a call too."""
_PROBE = 1 / 10
"""The part of a window between two calls that find out whether Cloudflare still blocks."""
_PROBED = 1 / 60
"""The part of a window within which such a call is made and answered."""
_STEPS = 30
"""The number of steps of a window, in which calls are reported and ``pace`` looks ahead."""


def for_commands(limit: int) -> int:
    """Return how many calls of a window commands have for themselves, beyond the limit that all processes divide."""
    return min(FOR_COMMANDS, int(limit * _PART_FOR_COMMANDS))


class CallBudget:
    """Allows at most ``limit`` calls in any ``window`` seconds; while Cloudflare blocks, one in each tenth of a window.

    Where processes share the limit, ``lease`` sets this process's share, and how many calls of it the process may
    spend before it reports again. Once a lease has ended, another process may have the share: no call is made before
    the next lease.
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
        """Take the limit of all processes together; None counts no calls and only respects blocks.

        ``unleased`` is how many calls this process may make before its first lease; None: all of the limit.
        """
        self.window = window
        self._clock = clock
        self._total = limit
        self._share = limit if limit is None or unleased is None else min(limit, unleased)
        self._lease_ends = math.inf
        """When the lease ends; infinite before the first lease."""
        self._passed: deque[float] = deque()
        self._blocked_until = -math.inf
        self._probe_at = math.inf
        """When the next call is made that finds out whether Cloudflare still blocks."""
        self._probing = False
        """Whether such a call is under way."""
        self._refused_at = -math.inf
        self._made = 0
        self._reported = 0
        """How many calls had been made when this process last began to report."""
        self._unreported_ends: float = math.inf
        """The value that ``_made`` may reach before the next report; infinite before the first lease."""
        self._report: Callable[[], Awaitable[None]] | None = None
        self._announced: dict[str, tuple[float, int, int]] = {}
        """For each policy: when its window ends, the calls that this process had made, and those left to all."""

    @property
    def limit(self) -> int | None:
        """How many calls this process may make in a window; None: any number."""
        return None if self._total is None else self._share

    @property
    def low(self) -> bool:
        """Whether so few calls are left that background work waits."""
        limit = self.limit
        return self._clock() < self._blocked_until or (limit is not None and self.left() <= limit * _LOW)

    async def admit(self) -> None:
        """Wait until ``take`` may spend a call, or raises because no call is left.

        It waits while this process reports its calls and renews its lease, where no call may be made before.

        Raises:
            CloudflareBlocks: Cloudflare blocks.
            Unavailable: this process cannot report now.
        """
        while self._report is not None and self.limit is not None and not self._may_call_unreported:
            if self.left() < 1:
                return
            self.refuse()  # calls come faster than the share lasts, or the lease has ended
            try:
                await self._report()
            finally:
                self.check_block()

    def take(self, *, background: bool = False) -> None:
        """Spend one call; ``background`` leaves a quarter of the window's calls to requests.

        Raises:
            CloudflareBlocks: Cloudflare blocks; the error says when the block ends.
            RateLimited: the share is used up; the error says when a call is allowed again.
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
        """Count a call that is made even if no call is left, because it asks for this process's share.

        While Cloudflare blocks, such a call is made once in a tenth of a window: a block may be over before its time,
        and a single refusal may have been no block at all. ``answered`` ends the block.

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
        """Refuse every call for these seconds, because Cloudflare blocks."""
        structlog.get_logger().error("cloudflare_blocks", seconds=seconds)
        now = self._clock()
        self._blocked_until = max(self._blocked_until, now + seconds)
        self._probe_at, self._probing = now + self.window * _PROBE, False

    @property
    def probes(self) -> bool:
        """Whether Cloudflare blocks, and a call is due that finds out whether it still does (``record``)."""
        return self._probe_at <= self._clock() < self._blocked_until

    def answered(self) -> None:
        """Note that a call which ``record`` has counted was answered: if the call was a probe, the block is over."""
        if self._probing:
            structlog.get_logger().info("cloudflare_blocks_no_more")
            self._blocked_until, self._probing = -math.inf, False

    def record_announced_limit(self, policy: str, remaining: int, reset_seconds: int) -> None:
        """Record how many calls an answer of Cloudflare says are left to all users of the token until a reset.

        This number corrects the count here, because others, such as the dashboard, spend calls too.
        """
        now = self._clock()
        if 0 < reset_seconds <= self.window:
            self._announced[policy] = now + reset_seconds, self._made, remaining

    def lease(self, share: int, seconds: float, *, unreported: int) -> None:
        """Set this process's share of the limit for ``seconds``, as the answer to a report.

        ``unreported`` is how many calls the process may make from the beginning of that report until the next one.
        """
        now = self._clock()
        self._share = share
        self._lease_ends = now + seconds
        self._unreported_ends = self._reported + unreported

    def begin_report(self, most: int) -> int:
        """Make no more than ``most`` calls until the report that begins now is answered; return how many may be made.

        Until then this process does not know which share and which report the other processes see. With this number of
        calls it stays within every share that they may see.
        """
        calls = int(max(0, min(most, self.left(), self._unreported_left)))
        self._reported = self._made
        if self._unreported_ends < math.inf:
            self._unreported_ends = self._made + calls
        return calls

    def report_by(self, report: Callable[[], Awaitable[None]] | None) -> None:
        """Set the function that reports when calls have to wait for a report; None: such calls are refused."""
        self._report = report

    def stop_counting(self) -> None:
        """Count no calls from now on, whatever is leased, because they go where the limit does not hold."""
        self._total = None

    def spent(self) -> Sequence[tuple[float, int]]:
        """Return the calls of this window by steps, newest first: the newest call's age (seconds), and their number."""
        now = self._clock()
        self._forget(now)
        steps: dict[int, list[float]] = {}
        for at in reversed(self._passed):
            steps.setdefault(int((now - at) * _STEPS / self.window), []).append(now - at)
        return [(min(ages), len(ages)) for ages in steps.values()]

    def refuse(self) -> None:
        """Note that a request was refused because no call was left."""
        self._refused_at = self._clock()

    @property
    def lacks_calls(self) -> bool:
        """Whether few calls are left, or requests were refused lately, or calls came faster than the share lasts."""
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
        """Return after how many seconds this number of calls will be allowed, if no call is made until then."""
        now, limit = self._clock(), self.limit
        if limit is None:
            return max(0.0, self._blocked_until - now)
        self._forget(now)
        too_many = min(len(self._passed) + calls - limit, len(self._passed))
        own = self._passed[too_many - 1] + self.window if too_many > 0 else now
        announced = max((ends for ends, left in self._announced_left(now, limit) if left < calls), default=now)
        return max(own, announced, self._blocked_until, now) - now

    def pace(self) -> float:
        """Return how many calls per second can be made evenly from now on, without a long stop.

        It is the least rate over all times ahead: the calls that are left and those that leave the window until a time,
        divided by the seconds until then.
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
        """Raise ``CloudflareBlocks`` while Cloudflare blocks; the error says when to ask again."""
        if (wait := self.blocked_for()) > 0:
            raise CloudflareBlocks("Cloudflare has blocked all calls.", retry_after=wait)

    def blocked_for(self) -> int:
        """Return after how many seconds it is known whether Cloudflare still blocks: at the block's end, or by a probe.

        Only a process that reports makes probes; without one it is the block's end.
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
        """Return when each window that Cloudflare announced ends, and the calls left in it for this process."""
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
