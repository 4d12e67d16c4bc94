"""Joins concurrent requests into one call."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
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
_AT_ONCE = 4
"""So many calls are under way at most where one begins beside others: one more would only wait at the service's end."""


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

    def within(self, most: "Size") -> bool:
        """Return whether neither is more than ``most`` has."""
        return self.items <= most.items and self.bytes <= most.bytes

    def plus(self, other: "Size") -> "Size":
        """Return both together."""
        return Size(self.items + other.items, self.bytes + other.bytes)

    def minus(self, other: "Size") -> "Size":
        """Return what is left without the other."""
        return Size(self.items - other.items, self.bytes - other.bytes)


_NOTHING = Size(0, 0)


class Gatherer(Generic[_R, _A]):
    """Makes one call of all requests that come while another call is under way.

    Where no call is under way, one begins in the next turn of the event loop: an idle service waits for nothing, and
    requests of one turn, such as the next requests of all callers that were just answered, go together. Where enough
    requests wait, a call begins beside those that are under way: few more could join it by waiting. While calls are so
    scarce that requests are refused, a call lingers, so that more requests share it, and only a full one begins beside
    others. Tenants take turns in a call, so that a tenant with many requests does not keep others out of it. A
    cancelled request cancels no other: if its call is under way, the call goes on for the others.

    ``app.adapters.local.coalescer.Coalescer`` joins requests for one key, such as searches of one scope, which then
    share work; this one joins any requests, because calls are scarce, and bounds how large a call is.
    """

    def __init__(
        self,
        call: Callable[[Sequence[_R]], Awaitable[Sequence[_A]]],
        *,
        parts: Callable[[_R], Mapping[Hashable, Size]],
        most: Size,
        enough: Size | None = None,
        refused: tuple[type[Exception], ...],
        linger: Callable[[], float] = FREE.linger,
    ) -> None:
        """Take the call, which returns an answer for each request.

        Args:
            call: Answers all requests with one call.
            parts: Returns how large each part of a request is (see ``of_one_part``). Parts with equal keys are made
                once in a call, and count once. A request larger than ``most`` goes alone.
            most: How large the requests of a call are together at most.
            enough: How large waiting requests are together for a call to begin beside others; None: over ``most``.
            refused: The errors that mean that one of a call's requests is wrong and none was done: each request is then
                made once more, alone.
            linger: See ``Metering``.
        """
        self._call = call
        self._parts = parts
        self._most = most
        self._enough = enough or most
        self._refused = refused
        self._linger = linger
        self._waiting: TenantTurns[_WaitingRequest[_R, _A]] = TenantTurns()
        self._waits: Counter[Hashable] = Counter()
        """In how many of the waiting requests each part is."""
        self._size = _NOTHING
        """How large these parts are together."""
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
            request, self._parts(request), loop.create_future(), get_current_span()
        )
        was_enough = self._is_enough
        self._put(tenant_id, asked)
        if self._next is None:
            self._first = loop.time()
            self._plan()
        elif self._is_enough and not was_enough:
            self._next.cancel()
            self._plan()
        return await asked.answer

    @property
    def _is_enough(self) -> bool:
        """Whether so much waits that a call begins beside others."""
        if self._size.within(self._enough):
            return False
        return not self._size.within(self._most) or self._linger() <= 0

    def _plan(self) -> None:
        """Let the next call begin in the next turn, or when it has lingered, or once it has waited long for another."""
        loop = asyncio.get_running_loop()
        if self._is_enough and len(self._calls) < _AT_ONCE:
            self._next = loop.call_soon(self._begin)
        elif self._newest is None:
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
        if task is self._newest:
            self._newest = None
        elif not self._is_enough:  # others have begun meanwhile
            return
        if self._next is not None:
            self._next.cancel()
            self._plan()

    def _put(self, tenant_id: str, asked: "_WaitingRequest[_R, _A]") -> None:
        """Let a request wait."""
        self._waiting.put(tenant_id, asked)
        self._size = self._size.plus(asked.beside(self._waits))
        self._waits.update(asked.parts.keys())

    def _gathered(self) -> "list[_WaitingRequest[_R, _A]]":
        """Take the requests of the next call out of those that wait."""
        gathered: list[_WaitingRequest[_R, _A]] = []
        room, made = self._most, set[Hashable]()

        def fits(asked: _WaitingRequest[_R, _A]) -> bool:
            return not gathered or asked.beside(made).within(room)

        while (taken := self._waiting.take(fits)) is not None:
            _, asked = taken
            for part, size in asked.parts.items():
                self._waits[part] -= 1
                if not self._waits[part]:
                    del self._waits[part]
                    self._size = self._size.minus(size)
            if not asked.answer.done():  # else its request was cancelled
                gathered.append(asked)
                room = room.minus(asked.beside(made))
                made |= asked.parts.keys()
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


def of_one_part(size: Callable[[_R], Size]) -> Callable[[_R], Mapping[Hashable, Size]]:
    """Return the parts of requests that share none, of how large each of them is."""
    return lambda request: {object(): size(request)}


@dataclass(frozen=True, slots=True)
class _WaitingRequest(Generic[_R, _A]):
    """A request, and the answer that it waits for."""

    request: _R
    parts: Mapping[Hashable, Size]
    answer: "asyncio.Future[_A]"
    span: Span
    """The span that the request is made in."""

    def beside(self, others: Collection[Hashable]) -> Size:
        """Return how large its parts are together that are not among the others."""
        size = _NOTHING
        for part, own in self.parts.items():
            if part not in others:
                size = size.plus(own)
        return size

    def succeed(self, answer: _A) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
