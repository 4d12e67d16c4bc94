"""What happens beside a consolidation, or between it and its dry run, is not overruled; and what takes longest."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pytest

from app.domain.consolidation import Merge
from app.domain.errors import Conflict
from app.domain.limits import CONTENT_BYTES
from app.domain.memory import NewMemory, Scope
from app.domain.query import Filter, Query
from app.indexing.jobs.consolidate import Consolidate
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Row, Statement
from app.services.memories.consolidation import Consolidations
from app.storage.consolidating import Consolidating
from tests.indexing.test_consolidation_apart import Beside
from tests.support import memories
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import holding, memory_ids, memory_rows, set_memories, superseded
from tests.support.scopes import switch
from tests.support.tables import Not, delete_rows, insert_rows, rows_of

TEA = "I like tea"
TABLES = ("consolidated", "shortcut", "claim")
Act = Callable[[Bench, Sequence[str]], Awaitable[object]]


def job(bench: Bench, database: Database | None = None, *, holder: str = "one", dry_run: bool = False) -> Consolidate:
    return Consolidate(
        bench.database if database is None else database,
        None,
        holder=holder,
        rate_limiter=RateLimiter(1e9),
        pause=0,
        report=lambda _: None,
        dry_run=dry_run,
    )


async def copies(bench: Bench, content: str = TEA, number: int = 2) -> list[str]:
    new = [NewMemory(content, session_id=f"{content[:9]}{place}") for place in range(number)]
    return [await bench.gateway.store("bot", one) for one in new]


async def delete(bench: Bench, ids: Sequence[str]) -> None:
    await bench.gateway.delete("bot", ids[-1])


async def forget(bench: Bench, ids: Sequence[str]) -> None:
    await set_memories(bench, {"forgotten_at": 1}, id=ids[-1])


async def expire(bench: Bench, ids: Sequence[str]) -> None:
    await memories.expire(bench, id=ids[-1])


async def relate(bench: Bench, older_id: str, newer_id: str, effect: str) -> None:
    """Have a reader of another version find that one of two replaces the other."""
    found = {
        "name": "replaces",
        "probability": 0.9,
        "effect": effect,
        "version": "x",
        "compared_at": 1,
    }
    pair = {"tenant_id": "acme", "agent_id": "bot", "older_id": older_id, "newer_id": newer_id}
    await insert_rows(bench, "relation", pair | found)


async def correct(bench: Bench, ids: Sequence[str]) -> None:
    newer = await bench.gateway.store("bot", NewMemory("I gave tea up", session_id="later"))
    await relate(bench, ids[-1], newer, "hides")


async def erase(bench: Bench, ids: Sequence[str]) -> None:  # noqa: ARG001
    await bench.gateway.erase("bot")
    await bench.quiet()


ACTS: tuple[Act, ...] = (delete, forget, expire, correct, erase)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("of", ["kept", "other"])
async def test_what_is_merged_is_looked_at_again_when_the_merge_is_written(
    tmp_path: Path, backend: Backend, act: Act, of: str
) -> None:
    async with bench_on(tmp_path, backend) as bench:
        ids = await copies(bench)
        other, kept = ids
        await act(bench, ids if of == "kept" else ids[::-1])
        merge = Consolidating(Scope("acme", "bot")).merge("x", [Merge("bot", other, kept, "memory")])
        await bench.database.run([merge])
        assert await rows_of(bench, "consolidated") == []


@pytest.mark.parametrize("act", ACTS)
async def test_what_changes_behind_a_dry_run_is_left_as_it_is(tmp_path: Path, backend: Backend, act: Act) -> None:
    async with bench_on(tmp_path, backend) as bench:
        ids = await copies(bench)
        assert (await job(bench, dry_run=True).run()).memories == 1
        await act(bench, ids)
        assert (await job(bench).run()).memories == 0
        assert await rows_of(bench, "consolidated") == []


@pytest.mark.thorough
@pytest.mark.parametrize("act", ACTS)
async def test_at_any_call_nothing_is_merged_into_what_is_gone_and_an_erasure_leaves_nothing(
    tmp_path: Path, backend: Backend, act: Act
) -> None:
    number, calls = 1, 99
    while number <= calls:
        async with bench_on(tmp_path / str(number), backend) as bench:
            ids = await copies(bench, number=3)
            beside = Beside(bench.database, number, lambda: act(bench, ids))  # noqa: B023 - it is called at once
            await job(bench, beside).run()  # type: ignore[arg-type]
            calls = beside.calls
            claims = await rows_of(bench, "claim", "key", "superseded_by", superseded_at=Not(0))
            ends = {row["superseded_by"] for row in claims if str(row["key"]).startswith("~=")} - {None}
            assert ends <= {*await memory_ids(bench)}
            if act is erase:
                for table in ("long_term_memory", *TABLES):
                    assert await rows_of(bench, table) == []
            elif act is delete:
                held = await memory_rows(bench, "id", superseded_at=None)
                assert ids[1] in {row["id"] for row in held}
            await bench.backends.deliveries.settle()
        number += 1


async def test_two_at_once_are_one(tmp_path: Path, backend: Backend) -> None:
    async with bench_on(tmp_path, backend) as bench:
        await copies(bench, number=5)
        both = await asyncio.gather(
            job(bench, holder="one").run(), job(bench, holder="two").run(), return_exceptions=True
        )
        assert [type(each) for each in both if isinstance(each, BaseException)] == [Conflict]
        rows = await rows_of(bench, "consolidated", "kept_id", "undone")
        assert (len({tuple(row.values()) for row in rows}), len(await superseded(bench))) == (1, 4)
        (report,) = await Consolidations(bench.backends.of_tenant("acme", ADMINISTRATOR)).latest(9)
        assert report.memories == 4


async def test_an_agent_whose_memory_is_switched_off_meanwhile_finds_what_is_kept_once_it_is_on_again(
    tmp_path: Path, backend: Backend
) -> None:
    async with bench_on(tmp_path, backend) as bench:
        await copies(bench)
        await switch(bench.backends, on=False)
        assert (await job(bench).run()).memories == 1
        await switch(bench.backends, on=True)
        (entry,) = (await bench.gateway.recall("bot", Query("tea"))).entries
        assert entry.content == TEA


async def test_of_equal_words_with_other_metadata_one_is_kept_and_each_is_found_by_its_own(
    tmp_path: Path, backend: Backend
) -> None:
    async with bench_on(tmp_path, backend) as bench:
        for number in range(3):
            metadata = {"ticket": number, f"only {number}": True}
            await bench.gateway.store("bot", NewMemory(TEA, metadata, session_id=f"s{number}"))
        assert (await job(bench).run()).memories == 2
        for number in range(3):
            query = Query("tea", where=Filter(metadata={"ticket": number}))
            (entry,) = (await bench.gateway.recall("bot", query)).entries
            assert entry.metadata == {"ticket": number, f"only {number}": True}
        (entry,) = (await bench.gateway.recall("bot", Query("tea"))).entries
        assert entry.metadata["ticket"] == 2


async def test_memories_of_the_largest_size_are_merged_and_one_other_character_keeps_them_apart(
    tmp_path: Path, backend: Backend
) -> None:
    async with bench_on(tmp_path, backend) as bench:
        large = ("tea is fine " * CONTENT_BYTES)[: CONTENT_BYTES - 1]
        for number, end in enumerate("aab"):
            await bench.gateway.store("bot", NewMemory(large + end, session_id=f"s{number}"))
        assert (await job(bench).run()).memories == 1
        assert [content[-1] for content in await holding(bench)] == ["a", "b"]


async def test_copies_that_an_older_version_has_put_in_order_are_merged(tmp_path: Path, backend: Backend) -> None:
    async with bench_on(tmp_path, backend) as bench:
        first, second, third = [*await copies(bench), *await copies(bench, "I like coffee", 1)]
        await relate(bench, first, second, "newer_first")
        assert (await job(bench, dry_run=True).run()).memories == 1
        await relate(bench, first, third, "newer_first")
        assert (await job(bench, dry_run=True).run()).memories == 0  # something else says that it holds no more
        await delete_rows(bench, "relation", newer_id=third)
        assert (await job(bench).run()).memories == 1
        reports = Consolidations(bench.backends.of_tenant("acme", ADMINISTRATOR))
        await reports.undo((await reports.latest(1))[0].id)
        assert await superseded(bench) == []


MANY = 10_000


async def multiplied(bench: Bench, number: int) -> None:
    """Copy the one memory of a bench, each copy of a session of its own."""
    (found,) = await memory_rows(bench)
    one = {column: value for column, value in found.items() if column != "happened_at"}  # which is generated
    made = []
    for n in range(1, number + 1):
        own = {"id": f"01K2Z7C3P5S8V1Y4B7E{n:07d}", "session_id": f"s{n}", "content_hash": f"{n:064x}"}
        made.append({**one, **own})
    await insert_rows(bench, "long_term_memory", *made)


@dataclass
class Timed:
    inner: Database
    seconds: list[float]

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        began = perf_counter()
        rows = await self.inner.run(statements)
        self.seconds.append(perf_counter() - began)
        return rows


@pytest.mark.long
async def test_of_ten_thousand_equal_memories_no_call_takes_long_and_an_undo_ends(
    tmp_path: Path, backend: Backend
) -> None:
    async with bench_on(tmp_path, backend) as bench:
        await copies(bench, number=1)
        await multiplied(bench, MANY - 1)
        timed = Timed(bench.database, [])
        assert (await job(bench, timed).run()).memories == MANY - 1  # type: ignore[arg-type]
        assert max(timed.seconds) < 5
        reports = Consolidations(bench.backends.of_tenant("acme", ADMINISTRATOR))
        (report,) = await reports.latest(1)
        undone = await reports.undo(report.id)
        while undone.more:
            undone = await reports.undo(report.id)
        assert (await superseded(bench), await rows_of(bench, "claim")) == ([], [])
