"""Divides scarce calls among tenants, so that a tenant with many requests does not keep out the others (ADR 0040)."""

import math
import time
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from app.adapters.cloudflare.call_budget import CallBudget
from app.domain.errors import RateLimited

_PACED = 1 / 4
"""The part of the budget at which a lone tenant's requests come at a pace; with n tenants it is ``1 - 1/n``."""
_ACTIVE = 1 / 10
"""The part of a window for which a tenant has a part after a request, and a promise is kept after its time."""
_STEP = 1 / 3000
"""The part of a window between two moments at which the tenants' parts grow."""
_SPARE = 1 / 30
"""The part of a window whose calls, of those that tenants leave, are kept for any tenant."""
_USUAL_COST = 2.0
"""Calls of a request, as long as none was measured."""
_AHEAD = 2 / 3
"""The part of a window ahead for which calls are kept for a refused request."""
_MAX_PROMISES = 1000
_SOON = 1 / 15
"""The part of a window before its time for which the calls of a promised request are kept."""
_GRID = 1 / 60
"""The part of a window between two moments at which refused requests come back, so that they share calls."""
_GRID_SECONDS = 1.0
"""The seconds after such a moment in which they come back, because ``Retry-After`` has no fractions."""
_LINGER_SECONDS = 1.0
"""How long a call waits for others while requests are refused: requests that come back together come within it."""
_OF_LATE = 1 / 30
"""The part of a window after a refusal in which calls still linger, and background work still waits."""


@dataclass(slots=True)
class _Average:
    """The average calls of a request, in which the newest requests count most."""

    calls: float = 0.0
    requests: float = 0.0

    def cost(self, usual: float) -> float:
        return (self.calls + usual) / (self.requests + 1)

    def fade(self, part: float) -> None:
        self.calls *= part
        self.requests *= part


@dataclass(slots=True)
class _Tenant:
    """A tenant with recent requests."""

    weight: float
    calls: float
    """The calls that the tenant may spend."""
    asked: float
    average: _Average = field(default_factory=_Average)
    promised: list[float] = field(default_factory=list)
    """When requests that were refused may come back, in order."""

    def take_promise(self, now: float) -> bool:
        """Take the promise that is due; return whether there was one."""
        if not self.promised or self.promised[0] > now:
            return False
        del self.promised[0]
        return True


class TenantCalls:
    """Decides, before a request does anything, whether its tenant may spend calls.

    While much of the budget is left, every request may begin. Otherwise calls come at the pace that the budget can keep
    up, and each tenant that asks gets its part of them. The calls that it leaves are for any tenant.

    A refused request is told when to come back, and the calls of one request are kept for its tenant until then. Where
    processes share the budget, only this process keeps them.
    """

    def __init__(
        self,
        budget: CallBudget,
        weights: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        linger_seconds: float = _LINGER_SECONDS,
    ) -> None:
        """Take the budget, and the weights of tenants whose weight is not 1."""
        self._budget = budget
        self._weights = weights or {}
        self._clock = clock
        self._tenants: dict[str, _Tenant] = {}
        self._average = _Average()
        self._pace = 0.0
        self._spare = 0.0
        self._grown = -math.inf
        self._linger_seconds = linger_seconds
        self._refused_at = -math.inf

    def admit(self, tenant_id: str) -> None:
        """Let a request of the tenant begin.

        Raises:
            CloudflareBlocks: Cloudflare refuses every call for a while.
            RateLimited: the tenant has used its part; the error says after how many seconds a request may begin.
        """
        self._budget.check_block()
        limit = self._budget.limit
        if limit is None:
            return
        now = self._clock()
        self._grow(now)
        tenant = self._tenant(tenant_id, now)
        tenant.asked = now
        cost = tenant.average.cost(self._cost)
        paced = max(_PACED, 1 - 1 / len(self._tenants))
        if self._budget.left() <= limit * paced and not self._pays(tenant, cost):
            self._budget.refuse()
            self._refused_at = now
            raise RateLimited(
                "Cloudflare's rate limit is nearly used up, and so is this tenant's part of it.",
                retry_after=self._promise(tenant, cost),
            )
        tenant.average.requests += 1
        self._average.requests += 1

    @property
    def low(self) -> bool:
        """Whether background work waits: few calls are left, or requests were refused lately."""
        return self._budget.low or self._refuses

    @property
    def _refuses(self) -> bool:
        return self._clock() < self._refused_at + self._budget.window * _OF_LATE

    def linger(self) -> float:
        """Return for how many seconds a call waits for others to join it: 0 unless requests are refused."""
        return self._linger_seconds if self._refuses else 0.0

    def charge(self, tenant_ids: Collection[str]) -> None:
        """Count one call that was made for these tenants; it enters the expected cost of their next requests."""
        self._average.calls += 1 if tenant_ids else 0
        for tenant_id in tenant_ids:
            if tenant_id in self._tenants:
                self._tenants[tenant_id].average.calls += 1 / len(tenant_ids)

    @property
    def _cost(self) -> float:
        return self._average.cost(_USUAL_COST)

    def _pays(self, tenant: _Tenant, cost: float) -> bool:
        """Take the calls of a request from the tenant's promise, its part or the spare calls; tell if they suffice."""
        if self._budget.left() < 1:
            return False
        now = self._clock()
        if tenant.take_promise(now) or tenant.calls >= cost * (1 + self._soon(tenant, now)):
            tenant.calls -= cost
        elif self._spare >= cost:
            self._spare -= cost
        else:
            return False
        return True

    def _soon(self, tenant: _Tenant, now: float) -> int:
        """Return for how many promised requests calls are kept now; calls for later requests become free until then."""
        return bisect_right(tenant.promised, now + self._budget.window * _SOON)

    def _promise(self, tenant: _Tenant, cost: float) -> int:
        """Return after how many seconds the tenant's part is enough for one more request, and keep a promise of it."""
        now = self._clock()
        part = tenant.weight / sum(each.weight for each in self._tenants.values())
        rate = self._pace * part
        lacks = max(0.0, cost * (1 + len(tenant.promised)) - tenant.calls)
        waits = min(lacks / rate, self._budget.window) if rate else 0.0
        before = min(sum(len(each.promised) for each in self._tenants.values()), (3 + len(tenant.promised)) / part)
        seconds = max(1, math.ceil(max(waits, self._budget.frees_in(math.ceil(self._cost * (1 + before))))))
        late = (now + seconds) % (self._budget.window * _GRID)
        if late > _GRID_SECONDS:
            seconds += math.ceil(self._budget.window * _GRID - late)
        if len(tenant.promised) < _MAX_PROMISES and seconds < self._budget.window * _AHEAD:
            insort(tenant.promised, now + seconds)
        return seconds

    def _tenant(self, tenant_id: str, now: float) -> _Tenant:
        tenant = self._tenants.get(tenant_id)
        if tenant is None:
            weight = self._weights.get(tenant_id, 1.0)
            tenant = self._tenants[tenant_id] = _Tenant(weight, calls=self._cost, asked=now)
        return tenant

    def _grow(self, now: float) -> None:
        """Give each tenant its part of the calls that have become free, once a step, and forget inactive tenants."""
        window = self._budget.window
        seconds = now - self._grown
        if seconds < window * _STEP:
            return
        self._grown = now
        for tenant_id, tenant in list(self._tenants.items()):
            while tenant.promised and tenant.promised[0] + window * _ACTIVE < now:
                del tenant.promised[0]
            if not tenant.promised and tenant.asked + window * _ACTIVE < now:
                del self._tenants[tenant_id]
        fading = math.exp(-seconds / window)
        self._average.fade(fading)
        self._pace = self._budget.pace()
        grown = self._pace * min(seconds, window)
        weights = sum(tenant.weight for tenant in self._tenants.values())
        for tenant in self._tenants.values():
            tenant.average.fade(fading)
            most = tenant.average.cost(self._cost) * (1 + self._soon(tenant, now))
            has = tenant.calls + grown * tenant.weight / weights
            tenant.calls = min(has, max(most, tenant.calls))
            self._spare += has - tenant.calls
        self._spare = min(self._spare, self._pace * window * _SPARE)
