"""Counts the calls of models and their tokens that each tenant spends on a day, against the tenant's limits."""

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
    """The cost of a tenant's calls of a stage on a day; ``day`` is in days since the epoch (UTC)."""

    tenant_id: str
    day: int
    stage: Stage
    calls: int
    tokens: int


class ModelSpend:
    """The calls and tokens of today that this process knows: its own, and those of all others that it last read.

    All tenants share one. A call of a model costs no call of the database: in the background the new spending is taken
    (``take``) and written, and the spending of all processes is read. So the processes together may exceed a limit by
    the spending between two writings, and by the tokens of the calls that are under way.
    """

    def __init__(self, limits: ModelLimits | None = None, report: Callable[[str, int], None] | None = None) -> None:
        """Take the limits of every tenant. Each ``now`` is in milliseconds since the epoch.

        ``report`` takes the tenant and the tokens of each call.
        """
        self.limits = limits or ModelLimits()
        self._report = report
        self._day = 0
        self._written: dict[str, tuple[int, int]] = {}
        """Calls and tokens of the day by tenant, as they were last read."""
        self._new: dict[str, tuple[int, int]] = {}
        """Calls and tokens of the day by tenant that are not in ``_written``."""
        self._asking: set[str] = set()
        """Tenants that have asked for calls since the spending of all processes was last read."""
        self._unwritten: Counter[tuple[str, int, Stage, str]] = Counter()
        self._under_way: Counter[str] = Counter()
        """Calls of each tenant that are under way, and not counted yet."""

    @contextmanager
    def call(self, tenant_id: str, now: int) -> Iterator[None]:
        """Let a call of the tenant pass, and count it as under way while the block runs.

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
            QuotaExceeded: the tenant's calls have cost as much as they may today, or the calls under way use up the
                rest of the limit.
        """
        if self.limits == ModelLimits():
            return
        self._asking.add(tenant_id)
        limits = (self.limits.calls_per_day, self.limits.tokens_per_day)
        under_way = (self._under_way[tenant_id], 0)  # the tokens of a call are not known before its answer
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
        """Return the spending that is to be written, and count it as written; ``restore`` takes that back."""
        taken, self._unwritten = self._unwritten, Counter()
        return [
            DaySpend(tenant_id, day, stage, calls=taken[tenant_id, day, stage, "calls"], tokens=tokens)
            for (tenant_id, day, stage, what), tokens in taken.items()
            if what == "tokens"
        ]

    def restore(self, taken: Sequence[DaySpend]) -> None:
        """Count the taken spending as unwritten again: the writing failed."""
        for each in taken:
            self._unwritten[each.tenant_id, each.day, each.stage, "calls"] += each.calls
            self._unwritten[each.tenant_id, each.day, each.stage, "tokens"] += each.tokens

    def asking(self) -> Sequence[str]:
        """Return the tenants that limits hold for and that have asked for calls since the last time, for ``read``."""
        asking, self._asking = self._asking, set()
        return sorted(asking)

    def read(self, day: int, totals: Mapping[str, tuple[int, int]]) -> None:
        """Take the calls and tokens of today that all processes have written, by tenant; ignore any other day."""
        if day != self._day:
            return
        for tenant_id, written in totals.items():
            self._written[tenant_id] = written
            self._new[tenant_id] = self.unwritten(tenant_id, day * DAY_MS)

    def _begin_day(self, now: int) -> int:
        """Return the day of ``now``, and forget the spending of any other day."""
        today = now // DAY_MS
        if today != self._day:
            self._day = today
            self._written, self._new = {}, {}
        return today
