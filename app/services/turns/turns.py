"""Turns on the event loop (ADR 0020): few requests begin at a time, and long work goes on behind them.

A request that would wait for its turn for too long is refused before work is done for it (ADR 0046).
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
"""The longest that a request waits for its turn, unless another time is set."""
BEHIND_SECONDS = 0.05
"""No request of a tenant begins while a queue behind the turns lags for the tenant by more than this."""
_ROUND_SECONDS = 0.005
"""Seconds in which requests begin in a round of the event loop: usually, requests that come together begin together."""
_LOOK_SECONDS = 0.005
"""Seconds after which the lags of the queues are looked at again."""

_NEWEST_WEIGHT = 0.125

PATIENCE_SECONDS = 0.02
"""The longest that the next part of long work waits for requests: the part begins then, however many requests come."""
_CHARACTERS_AT_ONCE = 64 * 1024
_READ_ON_THE_LOOP = 16 * 1024
"""Characters that are read in some milliseconds, in the event loop; more are read in a thread."""


class Queue(Protocol):
    """A queue in which requests wait after they have begun, such as that of the threads that read a file."""

    def lag(self, tenant_id: str) -> float:
        """Return how many seconds what a tenant asks for waits there."""
        ...


@dataclass(slots=True)
class _QueuedRequest:
    tenant_id: str
    turn: "asyncio.Future[None]"
    asked_at: float


@dataclass(slots=True)
class _TenantQueue:
    """The waiting requests of a tenant, and how fast they begin."""

    waiting: int = 0
    waited: float = 0.0
    """Seconds that the request that began last had waited."""
    began_at: float | None = None
    """When that request began, in seconds of the clock."""
    place_seconds: float = 0.0
    """The recent mean of the seconds from the begin of one request to that of the next."""

    def begun(self, asked_at: float, now: float) -> None:
        """Take note of a request that begins."""
        if self.began_at is not None:
            weight = _NEWEST_WEIGHT if self.place_seconds else 1
            self.place_seconds += (now - self.began_at - self.place_seconds) * weight
        self.waited, self.began_at = now - asked_at, now

    def is_longer(self, seconds: float) -> bool:
        """Tell whether one more request would wait longer than ``seconds``: by the recent pace, not by one delay alone.

        The expected wait has to be longer, and so has the wait of the request that began last, unless the expected wait
        is longer than 1.5 times ``seconds``: a request that waits in vain costs more than one that is refused at once.
        """
        expected = self.waiting * self.place_seconds
        return expected > seconds and (self.waited > seconds or expected > 1.5 * seconds)


class RequestTurns:
    """Lets requests begin for some milliseconds in each round of the event loop, then tenants take turns.

    Requests beyond the number that can be answered wait here, where they cost little, and not in the queues behind.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        look_seconds: float = _LOOK_SECONDS,
        wait_seconds: float = WAIT_SECONDS,
        shares: Sequence[Shares] = (),
    ) -> None:
        """Take a clock of seconds, after how many of them to look at lags again, and how many a request waits at most.

        A request that is expected to wait for longer than half of ``wait_seconds`` is refused when it comes
        (``_TenantQueue.is_longer``). No request begins while its tenant lags in one of the ``shares``.
        """
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._look_seconds = look_seconds
        self._shares = shares
        self._queues: list[Queue] = []
        self._waiting: TenantTurns[_QueuedRequest] = TenantTurns(clock)
        self._lines: dict[str, _TenantQueue] = {}
        self._ends: float | None = None
        """The time until which requests may begin in this round; None where no request has begun and none waits."""

    def __bool__(self) -> bool:
        """Whether any request waits."""
        return bool(self._lines)

    def watch(self, queue: Queue) -> None:
        """Let no request of a tenant begin while this queue lags for the tenant."""
        self._queues.append(queue)

    def unwatch(self, queue: Queue) -> None:
        """Look no more at a queue that is closed; it may be closed twice."""
        self._queues = [each for each in self._queues if each is not queue]

    def check(self, tenant_id: str) -> None:
        """Raise ``Overloaded`` if a request of the tenant that comes now would wait for too long."""
        line = self._lines.get(tenant_id)
        if line is not None and line.is_longer(self._wait_seconds / 2):
            raise self._refusal()

    async def wait(self, tenant_id: str) -> None:
        """Wait until a request of the tenant may begin: at once where the round has time left and no request waits.

        Raises:
            Overloaded: the request has waited for too long, or would have to.
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
        """Refuse the requests that have waited for too long, and let the next request begin that may."""
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
        lags = [queue.lag(tenant_id) for queue in self._queues] + [shares.lag(tenant_id) for shares in self._shares]
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
        """Begin without work; a part waits for requests at most ``patience_seconds``."""
        self._patience = patience_seconds
        self._under_way = 0
        self._waiting: TenantTurns[asyncio.Future[None]] = TenantTurns()
        self._since = 0.0
        """When the last part began, or if later, when the first waiting part came; in seconds of the loop."""
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
        """Let the next part begin, or plan its begin."""
        loop = asyncio.get_running_loop()
        latest = self._since + self._patience
        if self._under_way and loop.time() < latest:
            self._planned = loop.call_at(latest, self._go_on)
            return
        self._since = loop.time()
        while taken := self._waiting.take():
            _, turn = taken
            if not turn.done():  # its caller still waits
                turn.set_result(None)
                break
        self._planned = loop.call_soon(self._go_on) if self._waiting else None


class _HasContent(Protocol):
    """What has a text, such as an entry of a recall."""

    @property
    def content(self) -> str:
        """The text."""
        ...


async def off_the_loop(read: Sequence[_HasContent], reading: Callable[[], T]) -> T:
    """Return the result of reading texts; where they are long, the event loop goes on meanwhile."""
    is_long = sum(len(each.content) for each in read) > _READ_ON_THE_LOOP
    return await asyncio.to_thread(reading) if is_long else reading()


async def others_first() -> None:
    """Let the event loop run the callbacks that are ready."""
    await asyncio.sleep(0)


async def paced(
    items: Iterable[T],
    size: Callable[[T], int],
    at_once: int = _CHARACTERS_AT_ONCE,
    part: Callable[[], Awaitable[None]] = others_first,
) -> AsyncIterator[T]:
    """Yield the items; after over ``at_once`` characters, as ``size`` counts, wait for ``part`` before the next."""
    characters = 0
    for item in items:
        yield item
        characters += size(item)
        if characters > at_once:
            characters = 0
            await part()
