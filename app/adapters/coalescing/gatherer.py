"""Joins what is asked at the same time into one call."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from app.domain.turns import Turns

_R = TypeVar("_R")
_A = TypeVar("_A")
Charge: TypeAlias = Callable[[Collection[str]], None]
"""Is told, before a call goes out, the tenants whose requests are in it; none where the service asks for itself."""
PATIENCE_SECONDS = 0.25
"""How long a call that is under way keeps the next one waiting: one slow call does not stop all others."""


def charge_nobody(tenant_ids: Collection[str]) -> None:
    """Let a call be free: the ``Charge`` where no budget is shared."""


class Size(NamedTuple):
    """How large a request is, or how large the requests of a call may be together."""

    items: int
    bytes: int


class Gatherer(Generic[_R, _A]):
    """Makes one call of all that is asked while another call is under way.

    What is asked while none is under way goes at once, so an idle service waits for nothing. Tenants take turns in
    a call, so that one who asks much does not keep others out of it. A request that is cancelled takes nobody with
    it: if its call is under way, the call goes on for the others.
    """

    def __init__(
        self,
        call: Callable[[Sequence[_R]], Awaitable[Sequence[_A]]],
        *,
        size: Callable[[_R], Size],
        most: Size,
        refused: tuple[type[Exception], ...],
    ) -> None:
        """Take the call, which returns an answer for each request.

        Args:
            call: Asks for all requests in one call.
            size: How large a request is. One that is larger than ``most`` goes alone.
            most: How large the requests of a call are together at most.
            refused: The errors by which a call says that one of its requests is wrong and none was done: then each is
                asked once more, alone.
        """
        self._call = call
        self._size = size
        self._most = most
        self._refused = refused
        self._waiting: Turns[_Asked[_R, _A]] = Turns()
        self._calls: set[asyncio.Task[None]] = set()
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def ask(self, request: _R, tenant_id: str) -> _A:
        """Return the answer to a request; raises what the call raises."""
        loop = asyncio.get_running_loop()
        asked: _Asked[_R, _A] = _Asked(request, self._size(request), loop.create_future())
        self._waiting.put(tenant_id, asked)
        patience = self._began + PATIENCE_SECONDS - loop.time()
        if not self._calls or patience <= 0:
            self._next()
        elif self._timer is None:
            self._timer = loop.call_later(patience, self._next)
        return await asked.answer

    def _next(self) -> None:
        """Begin a call for those who wait, if there are any."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        gathered = self._gathered()
        if not gathered:
            return
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        # A context of its own: what the call logs is of no request alone.
        task = loop.create_task(self._send(gathered), context=Context())
        self._calls.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        self._next()

    def _gathered(self) -> "list[_Asked[_R, _A]]":
        gathered: list[_Asked[_R, _A]] = []
        room = self._most

        def fits(asked: _Asked[_R, _A]) -> bool:
            return not gathered or (asked.size.items <= room.items and asked.size.bytes <= room.bytes)

        while (taken := self._waiting.take(fits)) is not None:
            _, asked = taken
            if not asked.answer.done():  # else its request was cancelled
                gathered.append(asked)
                room = Size(room.items - asked.size.items, room.bytes - asked.size.bytes)
        return gathered

    async def _send(self, gathered: "Sequence[_Asked[_R, _A]]") -> None:
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
class _Asked(Generic[_R, _A]):
    """A request, and the answer that it waits for."""

    request: _R
    size: Size
    answer: "asyncio.Future[_A]"

    def succeed(self, answer: _A) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
