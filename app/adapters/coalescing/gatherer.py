"""Joins concurrent requests into one call."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from opentelemetry.trace import Span, get_current_span

from app.domain.turns import TenantTurns
from app.observability.traces import shared_context

_R = TypeVar("_R")
_A = TypeVar("_A")
Charge: TypeAlias = Callable[[Collection[str]], None]
"""Takes, before a call goes out, the tenants whose requests are in it; none for requests of the service itself."""
PATIENCE_SECONDS = 1.0
"""How long a call that is under way keeps the next one waiting: one slow call does not stop all others."""


@dataclass(frozen=True, slots=True)
class Metering:
    """How scarce calls are counted and delayed; the default does neither.

    Attributes:
        charge: Takes the tenants of each call.
        linger: Returns for how many seconds a call waits for more requests after its first; called for each call.
    """

    charge: Charge = lambda _: None
    linger: Callable[[], float] = lambda: 0.0


FREE = Metering()
"""The metering of calls that are not counted."""


class Size(NamedTuple):
    """How large a request is, or how large the requests of a call may be together."""

    items: int
    bytes: int


class Gatherer(Generic[_R, _A]):
    """Makes one call of all requests that come while another call is under way.

    Where no call is under way, one begins in the next turn of the event loop: an idle service waits for nothing, and
    requests of one turn, such as the next requests of all callers that were just answered, go together. While calls
    are so scarce that requests are refused, a call lingers, so that more requests share it. Tenants take turns in a
    call, so that a tenant with many requests does not keep others out of it. A cancelled request cancels no other: if
    its call is under way, the call goes on for the others.

    ``app.adapters.local.coalescer.Coalescer`` joins requests for one key, such as searches of one scope, which then
    share work; this one joins any requests, because calls are scarce, and bounds how large a call is.
    """

    def __init__(
        self,
        call: Callable[[Sequence[_R]], Awaitable[Sequence[_A]]],
        *,
        size: Callable[[_R], Size],
        most: Size,
        refused: tuple[type[Exception], ...],
        linger: Callable[[], float] = FREE.linger,
    ) -> None:
        """Take the call, which returns an answer for each request.

        Args:
            call: Answers all requests with one call.
            size: Returns how large a request is. A request larger than ``most`` goes alone.
            most: How large the requests of a call are together at most.
            refused: The errors that mean that one of a call's requests is wrong and none was done: each request is then
                made once more, alone.
            linger: See ``Metering``.
        """
        self._call = call
        self._size = size
        self._most = most
        self._refused = refused
        self._linger = linger
        self._waiting: TenantTurns[_WaitingRequest[_R, _A]] = TenantTurns()
        self._calls: set[asyncio.Task[None]] = set()
        self._newest: asyncio.Task[None] | None = None
        """The call that keeps the next one waiting, while it is under way."""
        self._began = 0.0
        self._first = 0.0
        """When the first of the requests came that wait for the next call."""
        self._next: asyncio.Handle | None = None
        """Begins the next call; None where no request waits."""

    async def ask(self, request: _R, tenant_id: str) -> _A:
        """Return the answer to a request; raises what the call raises."""
        loop = asyncio.get_running_loop()
        asked: _WaitingRequest[_R, _A] = _WaitingRequest(
            request, self._size(request), loop.create_future(), get_current_span()
        )
        self._waiting.put(tenant_id, asked)
        if self._next is None:
            self._first = loop.time()
            self._plan()
        return await asked.answer

    def _plan(self) -> None:
        """Let the next call begin in the next turn, or when it has lingered, or once it has waited long for another."""
        loop = asyncio.get_running_loop()
        if self._newest is None:
            seconds = self._first + self._linger() - loop.time()
            self._next = loop.call_later(seconds, self._begin) if seconds > 0 else loop.call_soon(self._begin)
        else:
            self._next = loop.call_at(self._began + PATIENCE_SECONDS, self._begin)

    def _begin(self) -> None:
        """Begin a call for the requests that wait."""
        self._next = None
        gathered = self._gathered()
        if not gathered:  # they were all cancelled
            return
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        # A context of its own: the call's log lines belong to no single request.
        context = shared_context([asked.span for asked in gathered])
        self._newest = task = loop.create_task(self._send(gathered), context=context)
        self._calls.add(task)
        task.add_done_callback(self._ended)
        if self._waiting:
            self._plan()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        if task is not self._newest:  # a slow call: others have begun meanwhile
            return
        self._newest = None
        if self._next is not None:
            self._next.cancel()
            self._plan()

    def _gathered(self) -> "list[_WaitingRequest[_R, _A]]":
        gathered: list[_WaitingRequest[_R, _A]] = []
        room = self._most

        def fits(asked: _WaitingRequest[_R, _A]) -> bool:
            return not gathered or (asked.size.items <= room.items and asked.size.bytes <= room.bytes)

        while (taken := self._waiting.take(fits)) is not None:
            _, asked = taken
            if not asked.answer.done():  # else its request was cancelled
                gathered.append(asked)
                room = Size(room.items - asked.size.items, room.bytes - asked.size.bytes)
        return gathered

    async def _send(self, gathered: "Sequence[_WaitingRequest[_R, _A]]") -> None:
        try:
            answers = await self._call([asked.request for asked in gathered])
        except self._refused as error:
            if len(gathered) == 1:
                gathered[0].fail(error)
            else:
                await asyncio.gather(*(self._send([asked]) for asked in gathered if not asked.answer.done()))
        except Exception as error:  # noqa: BLE001 - it is raised where each answer is awaited
            for asked in gathered:
                asked.fail(error)
        except BaseException:
            for asked in gathered:
                asked.answer.cancel()
            raise
        else:
            for asked, answer in zip(gathered, answers, strict=True):
                asked.succeed(answer)


@dataclass(frozen=True, slots=True)
class _WaitingRequest(Generic[_R, _A]):
    """A request, and the answer that it waits for."""

    request: _R
    size: Size
    answer: "asyncio.Future[_A]"
    span: Span
    """The span that the request is made in."""

    def succeed(self, answer: _A) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
