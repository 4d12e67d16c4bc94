"""Runs that are asked for at the same time are one run of the database, with each its own rows."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.coalescing.database import CoalescingDatabase
from app.adapters.coalescing.gatherer import Metering
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.errors import DatabaseRejected, MemoryGatewayError, UpstreamUnavailable
from app.ports.database import Row, Statement
from app.ports.vector_index import AwaitedHits
from tests.support.generation import examples


class Slow:
    """A database below, which lets others come while it runs, and counts its runs."""

    backend, history_days = "slow", 0

    def __init__(self, path: Path) -> None:
        self.file = SqliteFile(path)
        self._database = SqliteDatabase(self.file)
        self.runs: list[int] = []
        self.error: MemoryGatewayError | None = None

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.runs.append(len(statements))
        await asyncio.sleep(0.01)
        if self.error is not None:
            raise self.error
        return await self._database.run(statements)

    async def ping(self) -> None:
        await self._database.ping()

    async def purge_log(self) -> bool:
        return await self._database.purge_log()


def read(value: int, tenant: str = "t") -> Statement:
    return Statement("SELECT ?1 ->> 'value' AS value", {"value": value}, tenant_id=tenant)


def write(value: int, tenant: str = "t", *, repeatable: bool = True) -> Statement:
    sql = "INSERT INTO kept (value) VALUES (?1 ->> 'value')"
    return Statement(sql, {"value": value}, writes=True, repeatable=repeatable, tenant_id=tenant)


@pytest.fixture
async def below(tmp_path: Path) -> AsyncIterator[Slow]:
    async with database_in(tmp_path) as slow:
        yield slow


@asynccontextmanager
async def database_in(directory: Path) -> AsyncIterator[Slow]:
    slow = Slow(directory / "kept.sqlite3")
    try:
        await slow.run([Statement("CREATE TABLE kept (value INTEGER CHECK (value < 100)) STRICT", writes=True)])
        slow.runs.clear()
        yield slow
    finally:
        await slow.file.close()


async def kept(below: Slow) -> list[object]:
    (rows,) = await below.run([Statement("SELECT value FROM kept ORDER BY value")])
    return [row["value"] for row in rows]


async def test_each_run_gets_its_own_rows(below: Slow) -> None:
    database = CoalescingDatabase(below)
    runs = [database.run([read(n), read(n + 100)]) for n in range(20)]
    assert await asyncio.gather(*runs) == [[[{"value": n}], [{"value": n + 100}]] for n in range(20)]
    assert below.runs == [40]


async def test_reads_and_writes_are_batches_apart(below: Slow) -> None:
    database = CoalescingDatabase(below)
    await asyncio.gather(*(database.run([each(n)]) for n in range(10) for each in (read, write)))
    assert sorted(below.runs) == [10, 10]
    assert await kept(below) == [*range(10)]


async def test_a_run_below_has_at_most_a_hundred_statements_and_a_megabyte_and_a_half(below: Slow) -> None:
    database = CoalescingDatabase(below)
    await asyncio.gather(*(database.run([read(7 * n + each) for each in range(7)]) for n in range(40)))
    assert below.runs == [98, 98, 84]
    below.runs.clear()
    large = [
        Statement("SELECT length(?1 ->> 'value') AS length", {"value": "ü" * 300_000, "number": n}) for n in range(5)
    ]
    answers = await asyncio.gather(*(database.run([each]) for each in large))
    assert answers == [[[{"length": 300_000}]]] * 5
    assert below.runs == [2, 2, 1]


async def test_equal_reads_of_a_batch_are_made_once_and_all_have_their_rows(below: Slow) -> None:
    database = CoalescingDatabase(below)
    runs = [database.run([read(1), read(n), read(1)]) for n in range(60)]
    assert await asyncio.gather(*runs) == [[[{"value": 1}], [{"value": n}], [{"value": 1}]] for n in range(60)]
    assert below.runs == [60]


async def test_equal_reads_of_two_tenants_and_equal_writes_are_each_made(below: Slow) -> None:
    database = CoalescingDatabase(below)
    await asyncio.gather(
        *(database.run([read(1, tenant)]) for tenant in "ab"), *(database.run([write(5)]) for _ in "ab")
    )
    assert below.runs == [2, 2]
    assert await kept(below) == [5, 5]


async def test_where_one_statement_is_refused_the_others_are_written_once(below: Slow) -> None:
    database = CoalescingDatabase(below)
    values = [1, 2, 3, 1000, 4]
    answers = await asyncio.gather(*(database.run([write(n)]) for n in values), return_exceptions=True)
    assert [isinstance(answer, DatabaseRejected) for answer in answers] == [False, False, False, True, False]
    assert await kept(below) == [1, 2, 3, 4]


async def test_a_tenant_whose_statement_was_refused_breaks_no_other_batch_for_a_while(below: Slow) -> None:
    now = [0.0]
    database = CoalescingDatabase(below, clock=lambda: now[0])

    async def round_of(bad: int) -> list[int]:
        below.runs.clear()
        runs = [write(n) for n in range(6)]
        runs.insert(2, write(bad, "bad"))
        await asyncio.gather(*(database.run([each]) for each in runs), return_exceptions=True)
        return below.runs

    assert sorted(await round_of(1000)) == [*[1] * 7, 7]
    assert sorted(await round_of(1000)) == [1, 6]
    now[0] = 11.0
    assert await round_of(7) == [7]


class Name(str):
    """The name of a tenant, of which can be told whether anything still holds it."""

    __slots__ = ("__weakref__",)


async def test_a_tenant_whose_statement_was_refused_and_that_comes_no_more_is_forgotten(below: Slow) -> None:
    now = [0.0]
    database = CoalescingDatabase(below, clock=lambda: now[0])
    held: list[weakref.ref[Name]] = []
    for n in range(20):
        tenant = Name(f"bad{n}")
        held.append(weakref.ref(tenant))
        with pytest.raises(DatabaseRejected):
            await database.run([write(1000, tenant)])
        now[0] += 2.0
    del tenant
    gc.collect()
    assert [name() is not None for name in held] == [n > 14 for n in range(20)]


async def test_a_write_that_may_not_be_made_again_goes_alone(below: Slow) -> None:
    database = CoalescingDatabase(below)
    await asyncio.gather(*(database.run([write(n, repeatable=n != 3)]) for n in range(6)))
    assert sorted(below.runs) == [1, 5]


async def test_an_outage_is_told_to_all(below: Slow) -> None:
    database = CoalescingDatabase(below)
    below.error = UpstreamUnavailable("away")
    answers = await asyncio.gather(*(database.run([read(n)]) for n in range(5)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [UpstreamUnavailable] * 5
    assert below.runs == [5]


async def test_a_cancelled_run_leaves_the_others_their_rows(below: Slow) -> None:
    database = CoalescingDatabase(below)
    runs = [asyncio.create_task(database.run([write(n)])) for n in range(6)]
    await asyncio.sleep(0)  # all have asked, and no call has begun
    runs[3].cancel()
    answers = await asyncio.gather(*runs, return_exceptions=True)
    assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [n == 3 for n in range(6)]
    assert await kept(below) == [0, 1, 2, 4, 5]


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 120), st.booleans()), max_size=40))
def test_together_or_alone_the_same_is_written_and_answered(asked: list[tuple[str, int, bool]]) -> None:
    async def both() -> None:
        with TemporaryDirectory() as directory:
            async with database_in(Path(directory)) as below:
                database = CoalescingDatabase(below)
                runs = [database.run([write(n, tenant) if writes else read(n, tenant)]) for tenant, n, writes in asked]
                answers = await asyncio.gather(*runs, return_exceptions=True)
                refused = [writes and n >= 100 for _, n, writes in asked]
                assert [isinstance(answer, DatabaseRejected) for answer in answers] == refused
                for (_, n, writes), answer in zip(asked, answers, strict=True):
                    assert writes or answer == [[{"value": n}]]
                assert await kept(below) == sorted(n for _, n, writes in asked if writes and n < 100)

    asyncio.run(both())


async def test_each_run_below_is_charged_once_to_the_tenants_in_it(below: Slow) -> None:
    charged: list[set[str]] = []
    database = CoalescingDatabase(below, Metering(lambda tenant_ids: charged.append(set(tenant_ids))))
    runs = [database.run([read(0, tenant)]) for tenant in ("a", "b", "c", "b", "")]
    await asyncio.gather(*runs)
    await database.run([write(1, "d", repeatable=False)])
    await database.run([read(0, "")])
    assert charged == [{"a", "b", "c"}, {"d"}, set()]


async def test_a_run_that_asks_an_index_within_its_call_goes_alone(below: Slow) -> None:
    database = CoalescingDatabase(below)
    asking = replace(read(1), awaits=AwaitedHits())
    await asyncio.gather(*(database.run([each]) for each in (read(0), asking, read(2), read(3))))
    assert sorted(below.runs) == [1, 3]
