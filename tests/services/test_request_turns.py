"""Whose request begins next, and how much may happen in one round of the event loop."""

import asyncio
from collections import Counter

from app.services.request_turns import RequestTurns


class Begun:
    """Requests that begin, each for so many seconds, and in which round of the loop each did."""

    def __init__(self, seconds: float = 0.01) -> None:
        self.turns = RequestTurns(lambda: self.now)
        self.now = 0.0
        self.seconds = seconds
        self.order: list[str] = []
        self.rounds: list[int] = []
        self.round = 0

    def ask(self, *tenants: str) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self._one(tenant)) for tenant in tenants]

    async def all(self, tasks: list[asyncio.Task[None]]) -> None:
        while not all(task.done() for task in tasks):
            self.round += 1
            await asyncio.sleep(0)

    async def _one(self, tenant: str) -> None:
        await self.turns.wait(tenant)
        self.order.append(tenant)
        self.rounds.append(self.round)
        self.now += self.seconds


async def test_a_request_alone_begins_at_once() -> None:
    turns = RequestTurns()
    turn = turns.wait("a")
    try:
        turn.send(None)
    except StopIteration:
        return
    raise AssertionError("It had to wait.")


async def test_requests_that_take_long_begin_one_in_a_round() -> None:
    begun = Begun(seconds=0.02)
    await begun.all(begun.ask(*["a"] * 5))
    assert len(set(begun.rounds)) == 5


async def test_ordinary_requests_that_come_together_begin_together() -> None:
    begun = Begun(seconds=0.0002)
    await begun.all(begun.ask(*["a"] * 16))
    assert len(set(begun.rounds)) == 1


async def test_requests_begin_for_no_longer_than_five_milliseconds_in_a_round() -> None:
    begun = Begun(seconds=0.002)
    await begun.all(begun.ask(*["a"] * 12))
    assert max(Counter(begun.rounds).values()) == 3


async def test_a_request_of_another_tenant_begins_before_those_that_wait() -> None:
    begun = Begun()
    await begun.all(begun.ask(*["loud"] * 20, "quiet"))
    assert begun.order.index("quiet") <= 2
    assert len(begun.order) == 21


async def test_a_caller_that_goes_holds_nobody_up() -> None:
    begun = Begun()
    tasks = begun.ask(*["a"] * 6)
    await asyncio.sleep(0)
    for task in tasks[1:5]:
        task.cancel()
    await begun.all(tasks)
    assert len(begun.order) == 2
    await begun.all(begun.ask("b"))
    assert begun.order[-1] == "b"
