"""Work that is done again and again goes on after a failure, waits until it may begin, and stops when it is told to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.domain.errors import DatabaseUnavailable
from app.runtime.over_tenants import work_off
from app.runtime.periodic import PeriodicWork, stop
from app.storage.system.directory import READ_NOW
from tests.support.service import serving

_LONG = 3600.0


class Counted:
    """Work that counts how often it was done, and raises what is left of its errors first."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.times = 0

    async def work(self) -> None:
        self.times += 1
        if self.errors:
            raise self.errors.pop(0)

    async def done(self, times: int) -> None:
        async with asyncio.timeout(5):
            while self.times < times:
                await asyncio.sleep(0.001)


@asynccontextmanager
async def running(work: PeriodicWork) -> AsyncIterator[None]:
    task = asyncio.create_task(work.run())
    try:
        yield
    finally:
        await stop([task])


async def test_neither_an_outage_nor_a_defect_is_the_last_time() -> None:
    counted = Counted(DatabaseUnavailable("away"), KeyError("a defect"))
    with capture_logs() as logs:
        async with running(PeriodicWork("work", counted.work, "work_waits", 0.0)):
            await counted.done(3)
    assert [entry["event"] for entry in logs] == ["work_waits", "background_failed"]


async def test_the_pause_may_depend_on_whether_the_work_was_done() -> None:
    counted, told = Counted(DatabaseUnavailable("away")), list[bool]()

    def pause(done: bool) -> float:  # noqa: FBT001 - it is called with this alone
        told.append(done)
        return 0.0

    async with running(PeriodicWork("work", counted.work, "work_waits", pause)):
        await counted.done(3)
    assert told[:2] == [False, True]


async def test_a_pause_ends_when_the_work_is_wanted() -> None:
    counted, wanted = Counted(), asyncio.Event()
    async with running(PeriodicWork("work", counted.work, "work_waits", _LONG, wanted=wanted)):
        await counted.done(1)
        wanted.set()
        await counted.done(2)
        assert not wanted.is_set()


async def test_work_that_is_wanted_while_it_may_not_begin_lets_others_work_and_is_done_once_it_may() -> None:
    counted, wanted, ready = Counted(), asyncio.Event(), list[bool]()
    wanted.set()
    work = PeriodicWork(
        "work", counted.work, "work_waits", _LONG, lambda: bool(ready), unready_seconds=0.001, wanted=wanted
    )
    async with running(work):
        await asyncio.sleep(0.01)
        assert counted.times == 0
        ready.append(True)
        await counted.done(1)


async def test_the_first_time_may_be_later_than_the_start() -> None:
    counted = Counted()
    async with running(PeriodicWork("work", counted.work, "work_waits", 0.0, delay=_LONG)):
        await asyncio.sleep(0.01)
    assert counted.times == 0


async def test_what_one_task_has_failed_with_before_it_is_stopped_keeps_no_other_running() -> None:
    async def fails() -> None:
        raise OSError("gone")

    counted = Counted()
    tasks = [asyncio.create_task(fails()), asyncio.create_task(PeriodicWork("w", counted.work, "waits", _LONG).run())]
    await counted.done(1)
    with capture_logs() as logs:
        await stop(tasks)
    assert [task.done() for task in tasks] == [True, True]
    assert [line["event"] for line in logs] == ["background_failed"]


async def test_where_a_piece_of_work_fails_the_others_are_done_before_that_is_told(tmp_path: Path) -> None:
    done: list[str] = []

    async def work(piece: str) -> bool:
        if piece == "away":
            raise DatabaseUnavailable("It is away.")
        await asyncio.sleep(0.01)
        done.append(piece)
        return True

    async with serving(tmp_path) as service:
        backends = service.runtime.backends
        with pytest.raises(DatabaseUnavailable):
            await work_off(backends, READ_NOW, lambda _: ["away", "one", "two"], work)
        assert done == ["one", "two"]
        assert await work_off(backends, READ_NOW, lambda _: ["three"], work) == 1
