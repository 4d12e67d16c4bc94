"""Whose turn it is on the event loop (ADR 0020): few requests begin at a time, and long work goes on behind them.

A request that would wait for its turn for too long is refused before anything is done for it (ADR 0046).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from app.domain.errors import Overloaded
from app.domain.turns import TenantTurns
from app.services.turns.shares import Shares

T = TypeVar("T")

WAIT_SECONDS = 1.0
"""How long a request waits for its turn at most, where nobody says otherwise."""
BEHIND_SECONDS = 0.05
"""No request begins while a queue behind this one, of this machine or of the tenant, is behind by more."""
_ROUND_SECONDS = 0.005
"""How long requests begin in a round of the event loop: ordinary ones that come together also begin together."""
_LOOK_SECONDS = 0.005
"""After how long it is looked again whether the queues behind are still behind."""

_NEWEST_WEIGHT = 0.125

PATIENCE_SECONDS = 0.02
"""How long the next part of long work waits for requests at most: it goes on however many come."""
_CHARACTERS_AT_ONCE = 64 * 1024


class Queue(Protocol):
    """What requests wait for after they have begun, such as the threads that read a file."""

    @property
    def lag(self) -> float:
        """By how many seconds it is behind."""
        ...


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
        wait_seconds: float = WAIT_SECONDS,
        shares: Sequence[Shares] = (),
    ) -> None:
        """Take a clock that tells seconds, after how many to look at queues behind again, and how many to wait.

        A request that is expected to wait for half as long is refused when it comes. None begins while its tenant is
        behind with one of these ``shares``.
        """
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._look_seconds = look_seconds
        self._shares = shares
        self._queues: list[Queue] = []
        self._waiting: TenantTurns[_QueuedRequest] = TenantTurns(clock)
        self._lines: dict[str, _TenantQueue] = {}
        self._ends: float | None = None
        """Until when requests may begin in this round; None where none has begun and none waits."""

    def __bool__(self) -> bool:
        """Whether any request waits."""
        return bool(self._lines)

    def watch(self, queue: Queue) -> None:
        """Let no request begin while this queue is behind."""
        self._queues.append(queue)

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
        lags = [queue.lag for queue in self._queues] + [shares.lag(tenant_id) for shares in self._shares]
        return max(lags, default=0.0) > BEHIND_SECONDS

    def _refusal(self) -> Overloaded:
        return Overloaded(
            f"More is asked than can be answered: the request would wait for over {self._wait_seconds:g} s."
        )


class LongWork:
    """Lets parts of long work begin, one in a round of the event loop; the tenants take turns.

    While requests are under way the next part waits until they have ended, but no longer than its patience.
    """

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Begin with nobody."""
        self._patience = patience_seconds
        self._under_way = 0
        self._waiting: TenantTurns[asyncio.Future[None]] = TenantTurns()
        self._since = 0.0
        """When the last part began, or later the first of those that wait came; in seconds of the loop."""
        self._planned: asyncio.Handle | None = None

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request as under way while the block runs."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if self._planned is not None and not self._under_way:
                self._planned.cancel()
                self._planned = asyncio.get_running_loop().call_soon(self._go_on)

    async def part(self, tenant_id: str) -> None:
        """Wait until a part of a tenant's long work may begin: some milliseconds of work, before it asks again."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        if not self._waiting:
            self._since = loop.time()
        self._waiting.put(tenant_id, turn)
        if self._planned is None:
            self._planned = loop.call_soon(self._go_on)
        await turn

    def _go_on(self) -> None:
        """Let the next part begin, or plan when it does."""
        loop = asyncio.get_running_loop()
        latest = self._since + self._patience
        if self._under_way and loop.time() < latest:
            self._planned = loop.call_at(latest, self._go_on)
            return
        self._since = loop.time()
        while taken := self._waiting.take():
            _, turn = taken
            if not turn.done():  # its caller has not gone
                turn.set_result(None)
                break
        self._planned = loop.call_soon(self._go_on) if self._waiting else None


async def others_first() -> None:
    """Let the event loop go on with what is ready."""
    await asyncio.sleep(0)


async def paced(
    items: Iterable[T],
    size: Callable[[T], int],
    at_once: int = _CHARACTERS_AT_ONCE,
    part: Callable[[], Awaitable[None]] = others_first,
) -> AsyncIterator[T]:
    """Yield the items; after so many characters of them, as ``size`` counts, wait for ``part`` before the next."""
    characters = 0
    for item in items:
        yield item
        characters += size(item)
        if characters > at_once:
            characters = 0
            await part()
