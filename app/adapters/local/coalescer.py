"""Answers concurrent requests in groups: those that arrive while a group is answered form the next one."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
Q = TypeVar("Q")
A = TypeVar("A")


class Coalescer(Generic[K, Q, A]):
    """Shares one piece of work between the concurrent requests for the same key.

    A single request is answered at once. A request never joins work that began before it, so that its answer is
    as fresh as if it were alone. ``app.adapters.coalescing.gatherer.Gatherer`` joins calls of a metered service, which
    tenants share and whose size is bounded.
    """

    def __init__(self, answer: Callable[[K, Sequence[Q]], Awaitable[Sequence[A | Exception]]]) -> None:
        """Take the function that answers a group of requests for one key, in order; an answer may be an error."""
        self._answer = answer
        self._waiting: dict[K, list[tuple[Q, asyncio.Future[A]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, key: K, question: Q) -> A:
        """Return the answer, or raise it if it is an error; an error of the work is that of the whole group."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        if key in self._waiting:
            self._waiting[key].append((question, future))
        else:
            self._waiting[key] = [(question, future)]
            task = asyncio.create_task(self._work_off(key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _work_off(self, key: K) -> None:
        while waiting := self._waiting[key]:
            self._waiting[key] = []
            group = [(question, future) for question, future in waiting if not future.done()]
            if not group:  # every caller was cancelled
                continue
            answers: Sequence[A | Exception]
            try:
                answers = await self._answer(key, [question for question, _ in group])
            except Exception as error:  # noqa: BLE001 - every caller gets it
                answers = [error] * len(group)
            for (_, future), answer in zip(group, answers, strict=True):
                if future.done():  # the caller was cancelled
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
        del self._waiting[key]
