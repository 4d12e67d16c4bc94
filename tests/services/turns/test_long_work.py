"""When the next part of long work begins, in virtual time: while nothing waits, no time passes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from app.services.turns.turns import PATIENCE_SECONDS, LongWork
from tests.simulation.clock import now, run


class Parts:
    """Long work of some tenants, whose parts take no time, and when each part began."""

    def __init__(self) -> None:
        self.work = LongWork()
        self.begun: list[tuple[str, float]] = []
        self.rounds: list[int] = []
        self._round = 0

    async def do(self, tenant_id: str, parts: int = 1) -> None:
        for _ in range(parts):
            await self.work.part(tenant_id)
            self.begun.append((tenant_id, now()))
            self.rounds.append(self._round)

    def start(self, tenant_id: str, parts: int = 1) -> asyncio.Task[None]:
        return asyncio.create_task(self.do(tenant_id, parts))

    async def count_rounds(self, *tasks: asyncio.Task[None]) -> None:
        while not all(task.done() for task in tasks):
            self._round += 1
            await asyncio.sleep(0)

    @property
    def order(self) -> list[str]:
        return [tenant_id for tenant_id, _ in self.begun]

    @property
    def moments(self) -> list[float]:
        return [at for _, at in self.begun]


def in_virtual_time(test: Callable[[Parts], Awaitable[None]]) -> None:
    async def main() -> None:
        await test(Parts())

    run(main())


def test_without_requests_parts_wait_for_no_time() -> None:
    async def test(parts: Parts) -> None:
        await parts.do("loud", 100)
        assert parts.moments == [0.0] * 100

    in_virtual_time(test)


def test_parts_of_all_tenants_begin_one_in_a_round_of_the_loop_by_turns() -> None:
    async def test(parts: Parts) -> None:
        tasks = [parts.start(tenant_id, 5) for tenant_id in ("a", "a", "b")]
        await parts.count_rounds(*tasks)
        assert len(set(parts.rounds)) == len(parts.rounds) == 15
        assert parts.order[:10].count("b") == 5

    in_virtual_time(test)


def test_a_part_does_not_begin_while_a_request_is_under_way_and_begins_once_it_has_ended() -> None:
    async def test(parts: Parts) -> None:
        with parts.work.request():
            task = parts.start("loud")
            await asyncio.sleep(PATIENCE_SECONDS / 2)
            assert not parts.begun
        await task
        assert parts.moments == [PATIENCE_SECONDS / 2]

    in_virtual_time(test)


def test_a_part_waits_until_the_last_of_several_requests_has_ended() -> None:
    async def test(parts: Parts) -> None:
        with parts.work.request():
            with parts.work.request():
                task = parts.start("loud")
                await asyncio.sleep(PATIENCE_SECONDS / 4)
            await asyncio.sleep(PATIENCE_SECONDS / 4)
            assert not parts.begun
        await task
        assert parts.moments == [PATIENCE_SECONDS / 2]

    in_virtual_time(test)


def test_however_long_requests_take_a_part_begins_after_its_patience() -> None:
    async def test(parts: Parts) -> None:
        with parts.work.request():
            await asyncio.sleep(1)
            await parts.do("loud", 3)
        assert parts.moments == pytest.approx([1 + n * PATIENCE_SECONDS for n in (1, 2, 3)])

    in_virtual_time(test)


def test_while_requests_are_under_way_the_parts_of_all_tenants_share_one_patience() -> None:
    async def test(parts: Parts) -> None:
        with parts.work.request():
            await asyncio.gather(*(parts.do(tenant_id) for tenant_id in ("a", "b", "c")))
        assert parts.order == ["a", "b", "c"]
        assert parts.moments == pytest.approx([n * PATIENCE_SECONDS for n in (1, 2, 3)])

    in_virtual_time(test)


def test_a_request_that_begins_just_before_a_part_goes_first() -> None:
    async def test(parts: Parts) -> None:
        task = parts.start("loud")
        await asyncio.sleep(0)  # the part waits for its turn, which is the next round's
        with parts.work.request():
            await asyncio.sleep(PATIENCE_SECONDS / 2)
            assert not parts.begun
        await task

    in_virtual_time(test)


def test_a_request_that_fails_holds_nobody_up() -> None:
    async def test(parts: Parts) -> None:
        with suppress(RuntimeError), parts.work.request():
            raise RuntimeError
        await parts.do("loud", 2)
        assert parts.moments == [0.0, 0.0]

    in_virtual_time(test)


def test_long_work_that_is_cancelled_holds_nobody_up() -> None:
    async def test(parts: Parts) -> None:
        with parts.work.request():
            gone = [parts.start("a") for _ in range(5)]
            await asyncio.sleep(0)
            for task in gone:
                task.cancel()
            await parts.do("b")
        assert parts.order == ["b"]
        assert parts.moments == [PATIENCE_SECONDS]

    in_virtual_time(test)
