"""Divides scarce calls among tenants, so that one who asks much does not silence the others (ADR 0040)."""

import math
import time
import zlib
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from app.adapters.cloudflare.call_budget import CallBudget
from app.domain.errors import RateLimited

_PACED = 1 / 4
"""Of the budget: if no more is left, the requests of a tenant that is alone come at a pace; of n, if ``1 - 1/n`` is."""
_ACTIVE = 1 / 10
"""Of a window: who has not asked for so long has no part, and a promise is kept for so long after its time."""
_STEP = 1 / 3000
"""Of a window: how often the parts grow."""
_SPARE = 1 / 30
"""Of a window: so much of what tenants leave is anybody's."""
_USUAL_COST = 2.0
"""Calls of a request, as long as nothing is known."""
_AHEAD = 2 / 3
"""Of a window: for how long ahead calls are kept; who has to wait for longer is served in its turn, if it has one."""
_MAX_PROMISES = 1000
_SOON = 1 / 15
"""Of a window: for how long before its time the calls of a promised request are kept."""
_TURNS = 1 / 15
"""Of a window: how often a request that is repeated has its turn."""
_GRID = 1 / 60
"""Of a window: the time between two moments at which those who were refused come back, so that they share calls."""
_TURN_SECONDS = 2.0
"""A turn is a second in which clients come back, as ``Retry-After`` has no fractions, and what they may be too late."""
_EARLY_SECONDS = 0.25
"""Of a turn: what clients may be too early, because the clocks of two processes differ."""
_LINGER_SECONDS = 1.0
"""How long a call waits for others while requests are refused: those who come back together come within it."""
_OF_LATE = 1 / 30
"""Of a window: for how long after a refusal calls still linger, and background work still rests."""
_OWED = 9
"""For so many requests beyond its part a tenant is served in their turns; its next ones wait for longer instead."""


@dataclass(slots=True)
class _Average:
    """Calls of a request, where the newest count most."""

    calls: float = 0.0
    requests: float = 0.0

    def cost(self, usual: float) -> float:
        return (self.calls + usual) / (self.requests + 1)

    def fade(self, part: float) -> None:
        self.calls *= part
        self.requests *= part


@dataclass(slots=True)
class _Tenant:
    """A tenant that asks at this time."""

    weight: float
    calls: float
    """What it may spend."""
    asked: float
    average: _Average = field(default_factory=_Average)
    promised: list[tuple[float, int]] = field(default_factory=list)
    """When those who were refused may come back, and what they ask: a checksum, 0 where it is not known."""

    def take_promise(self, checksum: int, now: float) -> bool:
        """Take what was promised for now to the request of this checksum, or to one that has not come for a while."""
        for place, (at, promised) in enumerate(self.promised):
            if at > now:
                return False
            if checksum in (promised, 0) or promised == 0 or at + _TURN_SECONDS < now:
                del self.promised[place]
                return True
        return False


class TenantCalls:
    """Decides, before a request does anything, whether its tenant may spend calls.

    While much of the budget is left, every request may begin. Otherwise calls come at the pace that the budget can keep
    up, and each tenant that asks gets its part of them. What it leaves is anybody's.

    Where processes share the budget, a request that is refused is told to come back in its turn, which follows from
    what it asks and from the clock that they share. So each process serves it then, whichever has refused it.
    """

    def __init__(
        self,
        budget: CallBudget,
        weights: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        linger_seconds: float = _LINGER_SECONDS,
    ) -> None:
        """Take the budget, and the weights of tenants that have another than 1."""
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

    def admit(self, tenant_id: str, content: bytes = b"") -> None:
        """Let a request of the tenant begin; ``content`` is what it asks, and the same when it comes back.

        Without content it is served after its wait by this process alone.

        Raises:
            CloudflareBlocks: Cloudflare refuses every call for a while.
            RateLimited: the tenant has had its part; it says after how many seconds a request may begin.
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
        turn = self._since_turn(tenant_id, content)
        scarce = self._budget.left() <= limit * paced
        checksum = zlib.crc32(content) if scarce else 0
        if scarce and not self._pays(tenant, cost, checksum, turn):
            self._budget.refuse()
            self._refused_at = now
            raise RateLimited(
                "Cloudflare's rate limit is nearly used up, and so is this tenant's part of it.",
                retry_after=self._promise(tenant, cost, checksum, turn),
            )
        tenant.average.requests += 1
        self._average.requests += 1

    @property
    def low(self) -> bool:
        """Whether background work waits: few calls are left, or requests were refused of late."""
        return self._budget.low or self._refuses

    @property
    def _refuses(self) -> bool:
        return self._clock() < self._refused_at + self._budget.window * _OF_LATE

    def linger(self) -> float:
        """Return for how many seconds a call waits for others to join it: for none unless requests are refused."""
        return self._linger_seconds if self._refuses else 0.0

    def charge(self, tenant_ids: Collection[str]) -> None:
        """Count one call that was made for these tenants, by which the next requests of theirs are measured."""
        self._average.calls += 1 if tenant_ids else 0
        for tenant_id in tenant_ids:
            if tenant_id in self._tenants:
                self._tenants[tenant_id].average.calls += 1 / len(tenant_ids)

    @property
    def _cost(self) -> float:
        return self._average.cost(_USUAL_COST)

    def _since_turn(self, tenant_id: str, content: bytes) -> float | None:
        """Return how long ago, in seconds, the last turn of a request began; None where it has none."""
        now = self._budget.shared_time()
        if now is None or not content:
            return None
        turn, grid = self._budget.window * _TURNS, self._budget.window * _GRID
        first = zlib.crc32(content, zlib.crc32(tenant_id.encode())) % round(turn / grid)
        return (now - first * grid) % turn

    def _pays(self, tenant: _Tenant, cost: float, checksum: int, turn: float | None) -> bool:
        """Take the calls of a request from what was promised to the tenant, from its part, or from what is spare."""
        if self._budget.left() < 1:
            return False
        now, in_turn = self._clock(), turn is not None and turn < _TURN_SECONDS
        needed = cost * (-_OWED if in_turn else 1 + self._soon(tenant, now))
        if tenant.take_promise(checksum, now) or tenant.calls >= needed:
            tenant.calls -= cost
        elif self._spare >= cost:
            self._spare -= cost
        else:
            return False
        return True

    def _soon(self, tenant: _Tenant, now: float) -> int:
        """Return for how many promised requests calls are kept now; for later ones they become free until then."""
        return bisect_right(tenant.promised, (now + self._budget.window * _SOON, math.inf))

    def _promise(self, tenant: _Tenant, cost: float, checksum: int, turn: float | None) -> int:
        """Return after how many seconds the tenant's part is enough for one request more, and keep it until then."""
        now = self._clock()
        part = tenant.weight / sum(each.weight for each in self._tenants.values())
        rate = self._pace * part
        lacks = max(0.0, cost * (1 + len(tenant.promised)) - tenant.calls)
        waits = min(lacks / rate, self._budget.window) if rate else 0.0
        before = min(sum(len(each.promised) for each in self._tenants.values()), (3 + len(tenant.promised)) / part)
        seconds = max(1, math.ceil(max(waits, self._budget.frees_in(math.ceil(self._cost * (1 + before))))))
        seconds = self._rounded(seconds, now, turn)
        if len(tenant.promised) < _MAX_PROMISES and seconds < self._budget.window * _AHEAD:
            insort(tenant.promised, (now + seconds, checksum))
        return seconds

    def _rounded(self, seconds: int, now: float, turn: float | None) -> int:
        """Lengthen a wait until the request's next turn begins; where it has none, until others come back too."""
        if turn is None:
            period = self._budget.window * _GRID
            late = (now + seconds) % period
        else:
            period = self._budget.window * _TURNS
            late = (turn + seconds - _EARLY_SECONDS) % period
        return seconds if late <= _TURN_SECONDS / 2 else seconds + math.ceil(period - late)

    def _tenant(self, tenant_id: str, now: float) -> _Tenant:
        tenant = self._tenants.get(tenant_id)
        if tenant is None:
            weight = self._weights.get(tenant_id, 1.0)
            tenant = self._tenants[tenant_id] = _Tenant(weight, calls=self._cost, asked=now)
        return tenant

    def _grow(self, now: float) -> None:
        """Give each tenant its part of the calls that have become free, once a step, and forget who does not ask."""
        window = self._budget.window
        seconds = now - self._grown
        if seconds < window * _STEP:
            return
        self._grown = now
        for tenant_id, tenant in list(self._tenants.items()):
            while tenant.promised and tenant.promised[0][0] + window * _ACTIVE < now:
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
