"""A round of the indexer keeps its lease for as long as it works, and ends where it has lost it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.domain.errors import DatabaseUnavailable
from app.domain.memory import NewMemory
from app.indexing.lease_keeper import LeaseKeeper
from app.storage.system.leases import INDEXER
from tests.support.gateways import Bench, bench_on
from tests.support.tables import Not, delete_rows, rows_of, set_rows

AWAY = DatabaseUnavailable("The database is away.")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as bench:
        yield bench


class Work:
    """Goes on until it is told to end."""

    def __init__(self) -> None:
        self.end = asyncio.Event()
        self.ended: bool | None = None

    async def run(self) -> None:
        try:
            await self.end.wait()
            self.ended = True
        finally:
            self.ended = self.ended or False


async def begun(bench: Bench, lease_ms: int = 300) -> tuple[Work, asyncio.Task[bool]]:
    await bench.database.run([INDEXER.hold("one", lease_ms)])
    work, since = Work(), asyncio.get_running_loop().time()
    keeper = LeaseKeeper(bench.database, INDEXER, "one")
    return work, asyncio.create_task(keeper.keep(work.run(), since=since, lease_ms=lease_ms))


async def expires_at(bench: Bench) -> int:
    ((row),) = await rows_of(bench, "lease", "expires_at")
    return int(row["expires_at"] or 0)


async def test_the_lease_is_renewed_while_long_work_goes_on(bench: Bench) -> None:
    work, keeping = await begun(bench)
    first = await expires_at(bench)
    while await expires_at(bench) < first + 300:
        await asyncio.sleep(0.02)
    work.end.set()
    assert await keeping
    assert work.ended


async def test_work_ends_where_another_has_the_lease(bench: Bench) -> None:
    work, keeping = await begun(bench)
    await set_rows(bench, "lease", {"holder": "other", "expires_at": bench.clock() + 10_000})
    with capture_logs() as logs:
        assert not await keeping
    assert work.ended is False
    assert [log["event"] for log in logs] == ["lease_lost"]


async def test_work_ends_where_the_lease_could_not_be_renewed_in_time(bench: Bench) -> None:
    work, keeping = await begun(bench)
    bench.database.error = AWAY
    assert not await keeping
    assert work.ended is False


async def test_what_the_work_raises_is_raised(bench: Bench) -> None:
    async def fails() -> None:
        raise AWAY

    with pytest.raises(DatabaseUnavailable):
        await LeaseKeeper(bench.database, INDEXER, "one").keep(fails(), since=0.0, lease_ms=15_000)


async def test_an_indexer_takes_a_lease_that_is_a_day_ahead_and_says_so(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("a fox"))
    await bench.database.run([INDEXER.hold("one")])
    erasure = await bench.gateway.erase("bot")
    await bench.indexer.round()
    assert (await bench.gateway.erasure(erasure.id)).receipt is None
    ahead = bench.clock() + 86_400_000
    await set_rows(bench, "lease", {"expires_at": ahead})
    await set_rows(bench, "outbox", {"due_at": ahead})
    await set_rows(bench, "erasure", {"advanced_at": ahead})
    with capture_logs() as logs:
        for _ in range(4):
            await bench.indexer.round()
    (void,) = [log for log in logs if log["event"] == "lease_void"]
    assert (void["lease"], void["holder"]) == ("indexer", "one")
    assert (await bench.gateway.erasure(erasure.id)).receipt is not None


async def test_an_indexer_without_the_lease_looks_again_when_it_ends_while_erasures_go_on(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("a fox"))
    await bench.indexer.round()
    await delete_rows(bench, "outbox")
    await bench.gateway.erase("bot")
    await bench.database.run([INDEXER.release("tests"), INDEXER.hold("one", 15_000)])
    await delete_rows(bench, "lease", holder=Not("one"))
    await bench.database.run([INDEXER.hold("one", 15_000)])
    assert 0 < await bench.indexer.round() <= 15
