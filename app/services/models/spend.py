"""Counts what each tenant's calls of models cost on a day, against the tenant's limits."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from app.domain.errors import QuotaExceeded
from app.domain.quotas import ModelLimits
from app.ports.language_model import Spent, Stage

DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class DaySpend:
    """What a tenant's calls of a stage have cost on a day, in days since the epoch (UTC)."""

    tenant_id: str
    day: int
    stage: Stage
    calls: int
    tokens: int


class ModelSpend:
    """What was spent today, as far as this process knows: what it spent itself, and what it last read of all others.

    All tenants share one. A call costs no call of the database: what is new is taken (``take``), written, and what all
    processes have spent is read, by the background. So the processes together may exceed a limit by what they spend
    between two writings, and by the tokens of the calls that are under way.
    """

    def __init__(self, limits: ModelLimits | None = None, report: Callable[[str, int], None] | None = None) -> None:
        """Take the limits of every tenant. Each ``now`` is in milliseconds since the epoch.

        ``report`` is told the tenant and the tokens of each call.
        """
        self.limits = limits or ModelLimits()
        self._report = report
        self._day = 0
        self._written: dict[str, tuple[int, int]] = {}
        """Calls and tokens of the day by tenant, as they were last read."""
        self._new: dict[str, tuple[int, int]] = {}
        """Calls and tokens of the day by tenant that are not in what was read."""
        self._asking: set[str] = set()
        """Tenants that have asked since what all processes have spent was last read."""
        self._unwritten: Counter[tuple[str, int, Stage, str]] = Counter()
        self._under_way: Counter[str] = Counter()
        """Calls of each tenant that are under way, and not counted yet."""

    @contextmanager
    def call(self, tenant_id: str, now: int) -> Iterator[None]:
        """Let a call of the tenant pass, and count it with those that are under way while it is.

        Raises:
            QuotaExceeded: as ``check`` does.
        """
        self.check(tenant_id, now)
        self._under_way[tenant_id] += 1
        try:
            yield
        finally:
            self._under_way[tenant_id] -= 1
            if not self._under_way[tenant_id]:
                del self._under_way[tenant_id]

    def check(self, tenant_id: str, now: int) -> None:
        """Let a call of the tenant pass.

        Raises:
            QuotaExceeded: the tenant's calls have cost as much as they may today, or those under way are as many as
                there may still be.
        """
        if self.limits == ModelLimits():
            return
        self._asking.add(tenant_id)
        limits = (self.limits.calls_per_day, self.limits.tokens_per_day)
        under_way = (self._under_way[tenant_id], 0)  # what a call costs in tokens is not known before
        each = zip(("calls", "tokens"), self.used(tenant_id, now), under_way, limits, strict=True)
        for what, used, more, limit in each:
            if limit is not None and used + more >= limit:
                raise QuotaExceeded(
                    f"This is over the tenant's limit of {limit} {what} of language models per day (UTC).",
                    reached=f"model_{what}_per_day;scope=tenant;used={used};limit={limit}",
                    retry_after=-(-(DAY_MS - now % DAY_MS) // 1000),
                )

    def add(self, tenant_id: str, spent: Spent, now: int) -> None:
        """Count a call that was made."""
        if self._report is not None:
            self._report(tenant_id, spent.tokens)
        today = self._begin_day(now)
        calls, tokens = self._new.get(tenant_id, (0, 0))
        self._new[tenant_id] = calls + 1, tokens + spent.tokens
        self._unwritten[tenant_id, today, spent.stage, "calls"] += 1
        self._unwritten[tenant_id, today, spent.stage, "tokens"] += spent.tokens

    def used(self, tenant_id: str, now: int) -> tuple[int, int]:
        """Return how many calls and tokens the tenant has used today, as far as this process knows."""
        self._begin_day(now)
        written, new = self._written.get(tenant_id, (0, 0)), self._new.get(tenant_id, (0, 0))
        return written[0] + new[0], written[1] + new[1]

    def unwritten(self, tenant_id: str, now: int) -> tuple[int, int]:
        """Return how many calls and tokens of today, of this process, are not written yet."""
        today = self._begin_day(now)
        of_tenant = [key for key in self._unwritten if key[:2] == (tenant_id, today)]
        calls = sum(self._unwritten[key] for key in of_tenant if key[3] == "calls")
        return calls, sum(self._unwritten[key] for key in of_tenant if key[3] == "tokens")

    def take(self) -> Sequence[DaySpend]:
        """Return what is to be written, and count it as written; ``restore`` takes it back."""
        taken, self._unwritten = self._unwritten, Counter()
        return [
            DaySpend(tenant_id, day, stage, calls=taken[tenant_id, day, stage, "calls"], tokens=tokens)
            for (tenant_id, day, stage, what), tokens in taken.items()
            if what == "tokens"
        ]

    def restore(self, taken: Sequence[DaySpend]) -> None:
        """Count what was taken as unwritten again: the writing failed."""
        for each in taken:
            self._unwritten[each.tenant_id, each.day, each.stage, "calls"] += each.calls
            self._unwritten[each.tenant_id, each.day, each.stage, "tokens"] += each.tokens

    def asking(self) -> Sequence[str]:
        """Return the tenants that limits hold for and that have asked since the last time, for ``read``."""
        asking, self._asking = self._asking, set()
        return sorted(asking)

    def read(self, day: int, totals: Mapping[str, tuple[int, int]]) -> None:
        """Take the calls and tokens that all processes have written of a day, by tenant."""
        if day != self._day:
            return
        for tenant_id, written in totals.items():
            self._written[tenant_id] = written
            self._new[tenant_id] = self.unwritten(tenant_id, day * DAY_MS)

    def _begin_day(self, now: int) -> int:
        """Return the day, and forget what was used on another one."""
        today = now // DAY_MS
        if today != self._day:
            self._day = today
            self._written, self._new = {}, {}
        return today
