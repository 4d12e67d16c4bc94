"""Whose request begins next, and how much may happen in one round of the event loop."""

import asyncio
from collections import Counter

from app.domain.errors import Overloaded
from app.services.turns.turns import RequestTurns


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


class BehindFor:
    """A queue that is behind for some tenants."""

    def __init__(self, *tenants: str) -> None:
        self.tenants = tenants

    def lag(self, tenant_id: str) -> float:
        return 1.0 if tenant_id in self.tenants else 0.0


async def test_a_request_begins_while_a_queue_is_behind_for_another_tenant_alone() -> None:
    begun = Begun()
    begun.turns.watch(BehindFor("loud"))
    loud = begun.ask(*["loud"] * 20)
    await begun.all(begun.ask("quiet"))
    assert begun.order == ["quiet"]
    for task in loud:
        task.cancel()


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


class Overload:
    """Requests that come faster than they can begin: what is behind the turns lets one begin in so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self.seconds = seconds
        self.begins_at = 0.0
        self.turns = RequestTurns(lambda: self.now, look_seconds=0)
        self.turns.watch(self)
        self.waited: dict[str, list[float]] = {}
        self.refused: Counter[str] = Counter()
        self._tasks: list[asyncio.Task[None]] = []

    def lag(self, _: str) -> float:
        return 0.0 if self.now >= self.begins_at else 1.0

    def ask(self, tenant: str) -> None:
        self._tasks.append(asyncio.create_task(self._one(tenant)))

    async def _one(self, tenant: str) -> None:
        asked_at = self.now
        try:
            self.turns.check(tenant)
            await self.turns.wait(tenant)
        except Overloaded:
            self.refused[tenant] += 1
        else:
            self.begins_at = self.now + self.seconds
            self.waited.setdefault(tenant, []).append(self.now - asked_at)

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, in steps at each of which the turns look whether a request may begin."""
        await asyncio.sleep(0)
        ends = self.now + seconds
        while self.now < ends:
            self.now += min(self.seconds, 1.0) / 4
            for _ in range(4):
                await asyncio.sleep(0)

    async def end(self) -> None:
        await self.pass_time(2)
        await asyncio.gather(*self._tasks)


async def test_at_three_times_what_can_begin_all_that_begins_has_waited_less_than_a_second() -> None:
    overload = Overload(seconds=0.02)
    for _ in range(300):
        for _ in range(3):
            overload.ask("loud")
        await overload.pass_time(0.02)
    await overload.end()
    assert max(overload.waited["loud"]) <= 1.0
    assert len(overload.waited["loud"]) >= 0.85 * 300
    assert overload.refused["loud"] >= 300


async def test_a_tenant_that_floods_gets_the_refusals_and_no_other_waits_for_it() -> None:
    overload = Overload(seconds=0.02)
    for number in range(300):
        for _ in range(10):
            overload.ask("loud")
        if not number % 10:
            overload.ask("quiet")
        await overload.pass_time(0.02)
    await overload.end()
    assert overload.refused["quiet"] == 0
    assert max(overload.waited["quiet"]) <= 0.2
    assert overload.refused["loud"] > 1000


async def test_a_burst_that_can_be_answered_in_time_is_not_refused() -> None:
    overload = Overload(seconds=0.02)
    for _ in range(40):
        overload.ask("a")
    await overload.end()
    assert len(overload.waited["a"]) == 40


async def test_where_nothing_begins_all_are_refused_after_a_second() -> None:
    overload = Overload(seconds=10.0)
    for tenant in "abcd":
        overload.ask(tenant)
    await overload.end()
    assert overload.refused.total() == 3
    assert overload.waited.keys() == {"a"}


async def test_a_queue_that_is_closed_keeps_nobody_waiting() -> None:
    begun, closed = Begun(), BehindFor("a")
    begun.turns.watch(closed)
    tasks = begun.ask("a")
    await asyncio.sleep(0)
    assert begun.order == []
    for _ in range(2):  # it may be closed twice
        begun.turns.unwatch(closed)
    await begun.all(tasks)
    assert begun.order == ["a"]
