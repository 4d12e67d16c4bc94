"""Long work in threads: one piece at a time, by turns of the tenants."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from app.services.turns.threads import ThreadTurns


class Work:
    """Pieces of work that note when they are done, the first of them once it may end."""

    def __init__(self) -> None:
        self.turns = ThreadTurns()
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.done: list[str] = []

    async def begin(self) -> "asyncio.Task[None]":
        """Have a piece under way."""

        def first() -> None:
            self.begun.set()
            assert self.may_end.wait(10)
            self.done.append("first")

        task = asyncio.create_task(self.turns.run("loud", first))
        await asyncio.to_thread(self.begun.wait, 10)
        return task

    async def ask(self, *tenants: str) -> "list[asyncio.Task[None]]":
        tasks = [asyncio.create_task(self.turns.run(tenant, self._noting(tenant))) for tenant in tenants]
        await asyncio.sleep(0)
        return tasks

    def _noting(self, name: str) -> Callable[[], None]:
        return lambda: self.done.append(name)


async def test_tenants_take_turns_and_one_piece_is_done_at_a_time() -> None:
    work = Work()
    first = await work.begin()
    others = await work.ask("loud", "loud", "loud", "quiet")
    assert work.done == []
    work.may_end.set()
    await asyncio.gather(first, *others)
    assert work.done == ["first", "loud", "quiet", "loud", "loud"]


async def test_a_piece_whose_caller_has_gone_is_not_begun_and_keeps_nobody_waiting() -> None:
    work = Work()
    first = await work.begin()
    gone, staying = await work.ask("gone", "staying")
    gone.cancel()
    work.may_end.set()
    await asyncio.gather(first, staying)
    assert work.done == ["first", "staying"]


async def test_a_piece_that_has_begun_keeps_its_place_though_its_caller_has_gone() -> None:
    work = Work()
    first = await work.begin()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    (other,) = await work.ask("other")
    await asyncio.sleep(0.01)
    assert work.done == []
    work.may_end.set()
    await other
    assert work.done == ["first", "other"]


async def test_a_failure_is_told_to_its_caller_and_the_next_piece_is_done() -> None:
    work = Work()
    with pytest.raises(ZeroDivisionError):
        await work.turns.run("a", lambda: 1 // 0)
    assert await work.turns.run("a", lambda: 1) == 1
