"""Lets few requests begin at a time, so that many of one tenant delay another's by little (ADR 0020).

A request that would wait for its turn for too long is refused before anything is done for it (ADR 0046).
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.domain.errors import Overloaded
from app.domain.turns import TenantTurns

_WAIT_SECONDS = 1.0
"""How long a request waits for its turn at most, where nobody says otherwise."""
BEHIND_SECONDS = 0.05
"""No request begins while a queue behind this one, of this machine or of the tenant, is behind by more."""
_ROUND_SECONDS = 0.005
"""How long requests begin in a round of the event loop: ordinary ones that come together also begin together."""
_LOOK_SECONDS = 0.005
"""After how long it is looked again whether the queues behind are still behind."""

_NEWEST_WEIGHT = 0.125

Lag = Callable[[str], float]
"""Returns by how many seconds a queue is behind with what is of a tenant, given its id."""


@dataclass(slots=True)
class _QueuedRequest:
    tenant_id: str
    turn: "asyncio.Future[None]"
    asked_at: float


@dataclass(slots=True)
class _TenantQueue:
    """The requests of a tenant that wait."""

    waiting: int = 0
    waited: float = 0.0
    """For how many seconds the one that began last had waited."""
    began_at: float | None = None
    """When that was."""
    place_seconds: float = 0.0
    """How long it took lately until one more of them began."""

    def begun(self, asked_at: float, now: float) -> None:
        """Take note of one that begins."""
        if self.began_at is not None:
            weight = _NEWEST_WEIGHT if self.place_seconds else 1
            self.place_seconds += (now - self.began_at - self.place_seconds) * weight
        self.waited, self.began_at = now - asked_at, now

    def is_longer(self, seconds: float) -> bool:
        """Tell whether one more would wait for longer: by the pace of late, and not for a moment's delay alone.

        One that is expected to is refused when it comes, if the one before it has waited so long, and in any case where
        half as long again is expected: one that waits in vain costs more than one that is refused at once.
        """
        expected = self.waiting * self.place_seconds
        return expected > seconds and (self.waited > seconds or expected > 1.5 * seconds)


class RequestTurns:
    """Lets requests begin for some milliseconds in each round of the event loop, then tenants take turns.

    What is asked beyond what can be answered waits here, where it costs little, and not in the queues behind.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        look_seconds: float = _LOOK_SECONDS,
        wait_seconds: float = _WAIT_SECONDS,
    ) -> None:
        """Take a clock that tells seconds, after how many to look at queues behind again, and how many to wait.

        A request that is expected to wait for half as long is refused when it comes.
        """
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._look_seconds = look_seconds
        self._lags: list[Lag] = []
        self._waiting: TenantTurns[_QueuedRequest] = TenantTurns(clock)
        self._lines: dict[str, _TenantQueue] = {}
        self._ends: float | None = None
        """Until when requests may begin in this round; None where none has begun and none waits."""

    def __bool__(self) -> bool:
        """Whether any request waits."""
        return bool(self._lines)

    def watch(self, lag: Lag) -> None:
        """Look at a queue behind this one before a request begins."""
        self._lags.append(lag)

    def check(self, tenant_id: str) -> None:
        """Raise ``Overloaded`` if a request of the tenant that comes now would wait for too long."""
        line = self._lines.get(tenant_id)
        if line is not None and line.is_longer(self._wait_seconds / 2):
            raise self._refusal()

    async def wait(self, tenant_id: str) -> None:
        """Wait until a request of the tenant may begin; at once where this round has time left and nobody waits.

        Raises:
            Overloaded: it has waited for too long, or would have to.
        """
        now = self._clock()
        if not self._waiting and (self._ends is None or now < self._ends) and not self._is_behind(tenant_id):
            if self._ends is None:
                self._begin_round(now)
            return
        self.check(tenant_id)
        if self._ends is None:
            self._begin_round(now)
        line = self._lines.setdefault(tenant_id, _TenantQueue())
        request = _QueuedRequest(tenant_id, asyncio.get_running_loop().create_future(), now)
        self._waiting.put(tenant_id, request)
        line.waiting += 1
        try:
            await request.turn
        finally:
            line.waiting -= 1
            if not line.waiting:
                del self._lines[tenant_id]

    def _begin_round(self, now: float) -> None:
        self._ends = now + _ROUND_SECONDS
        asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        """Refuse those that have waited for too long, and let the next one begin that may."""
        while late := self._waiting.take_older(self._wait_seconds):
            self._end(late[1], self._refusal())
        loop = asyncio.get_running_loop()
        while taken := self._waiting.take(lambda request: not self._is_behind(request.tenant_id)):
            if self._end(taken[1]):
                loop.call_soon(self._next_round)
                return
        if self._waiting:
            loop.call_later(self._look_seconds, self._next_round)
        else:
            self._ends = None

    def _end(self, request: _QueuedRequest, refusal: Overloaded | None = None) -> bool:
        """End a request's waiting; return whether its caller was still there."""
        if request.turn.done():
            return False
        if refusal is None:
            self._lines[request.tenant_id].begun(request.asked_at, self._clock())
            request.turn.set_result(None)
        else:
            request.turn.set_exception(refusal)
        return True

    def _is_behind(self, tenant_id: str) -> bool:
        return any(lag(tenant_id) > BEHIND_SECONDS for lag in self._lags)

    def _refusal(self) -> Overloaded:
        return Overloaded(
            f"More is asked than can be answered: the request would wait for over {self._wait_seconds:g} s."
        )
