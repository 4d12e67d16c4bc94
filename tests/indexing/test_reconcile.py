"""The index is compared with the database id by id, repaired, and rebuilt when it is lost."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Conflict, CursorExpired, DatabaseUnavailable
from app.domain.memory import NewMemory, Scope
from app.indexing.jobs import reconcile as reconcile_module
from app.indexing.jobs.findings import Findings, Progress
from app.indexing.jobs.reconcile import Reconcile
from app.indexing.rate_limiter import RateLimiter
from app.ports.index_admin import IdPage
from app.ports.vector_index import IndexedVector
from app.storage.system import reconcile
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.memories import set_memories
from tests.support.tables import rows_of, set_rows

STRAY = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


def comparison(bench: Bench, *, repair: bool, holder: str = "test", **more: Any) -> Reconcile:
    told: list[Progress] = more.pop("told", [])
    return Reconcile(
        bench.database,
        bench.index,
        bench.embedder,
        holder=holder,
        rate_limiter=more.pop("rate_limiter", RateLimiter(1e9)),
        repair=repair,
        report=told.append,
    )


async def settled(bench: Bench, *contents: str, agent: str = "bot", seconds: int = 300) -> list[str]:
    """Store, and let the index show it."""
    ids = [await bench.gateway.store(agent, NewMemory(content)) for content in contents]
    await bench.quiet(seconds=seconds)
    return ids


async def lose(bench: Bench, ids: list[str]) -> None:
    """Have the index forget vectors, behind everybody's back."""
    for id_ in ids:
        await bench.index.inner.delete(Scope("acme", "bot"), [id_])


async def put_stray(bench: Bench) -> None:
    vector = (await bench.embedder.inner.embed(["stray"], "document")).vectors[0]
    await bench.index.inner.upsert([IndexedVector(Scope("acme", "bot"), STRAY, vector, 1, 1)])


async def test_where_nothing_is_wrong_nothing_is_found_and_nothing_written(bench: Bench) -> None:
    await settled(bench, "a", "b")
    findings = await comparison(bench, repair=True).run()
    assert (findings.listed, findings.walked) == (2, 2)
    assert [findings.missing, findings.orphans, findings.stale, findings.repaired] == [0, 0, 0, 0]
    assert await bench.queued() == {}
    assert await rows_of(bench, "reconcile") == await rows_of(bench, "reconcile_listed") == []


async def test_missing_memories_orphans_and_other_configs_are_reported_by_id_and_left_alone(bench: Bench) -> None:
    ids = await settled(bench, "a", "b", "c")
    await lose(bench, ids[:1])
    await put_stray(bench)
    await set_memories(bench, {"embedding_model": "older"}, id=ids[1])
    findings = await comparison(bench, repair=False).run()
    assert findings.examples == {"orphans": [STRAY], "foreign": [], "stale": [ids[1]], "missing": [ids[0]]}
    assert (findings.missing, findings.orphans, findings.stale, findings.repaired) == (1, 1, 1, 0)
    assert await bench.queued() == {}


async def test_counts_that_agree_hide_nothing(bench: Bench) -> None:
    ids = await settled(bench, "a", "b")
    await lose(bench, ids[:1])
    await put_stray(bench)  # as many vectors as memories
    findings = await comparison(bench, repair=False).run()
    assert (findings.missing, findings.orphans) == (1, 1)


async def test_what_is_found_is_repaired(bench: Bench) -> None:
    ids = await settled(bench, "a", "b", "c")
    await lose(bench, ids[:1])
    await put_stray(bench)
    await set_memories(bench, {"embedding_model": "older"}, id=ids[1])
    findings = await comparison(bench, repair=True).run()
    assert findings.repaired == 3
    assert (await bench.contents("a"))[0] == "a"  # at once, from the outbox
    await bench.quiet()
    assert set(await bench.index.held([*ids, STRAY])) == set(ids)
    assert await bench.queued() == {}
    again = await comparison(bench, repair=False).run()
    assert [again.missing, again.orphans, again.stale] == [0, 0, 0]


async def test_a_lost_index_is_rebuilt_from_the_database_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile_module, "MAX_BATCH", 20)
    contents = [f"memory number {n}" for n in range(50)]
    ids = await settled(bench, *contents)
    await lose(bench, ids)
    told: list[Progress] = []
    findings = await comparison(bench, repair=True, told=told).run()
    assert (findings.missing, findings.repaired) == (50, 50)
    assert told[-1].memories == 50
    parts = [progress.done / progress.of for progress in told]
    assert parts == sorted(parts)
    assert (parts[-1], len(set(parts)) > 3) == (1, True)
    await bench.quiet()
    assert set(await bench.index.held(ids)) == set(ids)
    assert await bench.contents("memory number 17", top_k=1) == ["memory number 17"]


async def test_what_is_on_its_way_is_neither_missing_nor_an_orphan(bench: Bench) -> None:
    pending = await bench.gateway.store("bot", NewMemory("pending"))
    deleted = await bench.gateway.store("bot", NewMemory("deleted"))
    await bench.gateway.delete("bot", deleted)
    findings = await comparison(bench, repair=False).run()
    assert (findings.missing, findings.orphans) == (0, 0)
    assert pending


async def test_a_vector_that_shows_after_its_page_was_listed_is_not_missing(bench: Bench) -> None:
    await settled(bench, "young", seconds=40)
    inner = bench.index.inner.list_ids

    async def too_early(cursor: str | None = None) -> IdPage:
        await inner(cursor)
        return IdPage([], None)

    bench.index.inner.list_ids = too_early  # type: ignore[method-assign]
    assert (await comparison(bench, repair=False).run()).missing == 0


async def test_what_was_stopped_goes_on_where_it_was(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile_module, "MAX_BATCH", 2)
    ids = await settled(bench, *(f"memory {n}" for n in range(9)))
    await lose(bench, ids)
    upsert, calls = bench.index.inner.upsert, 0

    async def stops(vectors: Any) -> int:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise DatabaseUnavailable("Stopped.")
        return await upsert(vectors)

    bench.index.inner.upsert = stops  # type: ignore[method-assign]
    with pytest.raises(DatabaseUnavailable):
        await comparison(bench, repair=True).run()
    bench.embedder.calls.clear()
    findings = await comparison(bench, repair=True).run()
    assert sum(len(texts) for texts, _ in bench.embedder.calls) == 3  # six were queued before
    await bench.quiet()
    assert set(await bench.index.held(ids)) == set(ids)
    assert findings.walked == 9


@pytest.mark.parametrize("before", [[False], [True, False]], ids=["only looked", "repaired, then looked"])
async def test_a_repair_does_not_go_on_with_what_only_looked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, before: list[bool]
) -> None:
    ids = await settled(bench, "a", "b")

    async def stops(_: Any) -> dict[str, bool]:
        raise DatabaseUnavailable("Stopped.")

    with monkeypatch.context() as stopping:
        stopping.setattr(bench.index.inner, "agrees", stops)
        for repair in before[:-1]:
            with pytest.raises(DatabaseUnavailable):
                await comparison(bench, repair=repair).run()
        await set_rows(bench, "reconcile", {"phase": "listing", "cursor": None}, singleton=1)
        await lose(bench, ids[:1])
        with pytest.raises(DatabaseUnavailable):
            await comparison(bench, repair=before[-1]).run()
    findings = await comparison(bench, repair=True).run()
    assert (findings.missing, findings.repaired) == (1, 1)
    await bench.quiet()
    assert set(await bench.index.held(ids)) == set(ids)


async def test_a_listing_whose_cursor_has_expired_begins_anew(bench: Bench) -> None:
    await settled(bench, "a", "b", "c")
    inner, asked = bench.index.inner.list_ids, []

    async def forgetful(cursor: str | None = None) -> IdPage:
        asked.append(cursor)
        if cursor == "gone":
            raise CursorExpired("The cursor has expired.")
        page = await inner(cursor)
        return IdPage(page.ids[:1], "gone") if len(asked) == 1 else page

    bench.index.inner.list_ids = forgetful  # type: ignore[method-assign]
    findings = await comparison(bench, repair=False).run()
    assert asked == [None, "gone", None]
    assert (findings.listed, findings.missing) == (3, 0)


async def test_two_at_once_do_not_disturb_each_other(bench: Bench) -> None:
    await settled(bench, "a")
    await bench.database.run([reconcile.LEASE.hold("another")])
    with pytest.raises(Conflict):
        await comparison(bench, repair=False).run()
    bench.later(3600)
    assert (await comparison(bench, repair=False).run()).walked == 1


async def test_calls_are_spent_within_the_rate(bench: Bench) -> None:
    await settled(bench, "a", "b")
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    bench.database.journal.clear()
    await comparison(bench, repair=False, rate_limiter=RateLimiter(0.06, sleep)).run()
    calls = [name for name in bench.database.journal if name.startswith(("database", "index"))]
    # A call may be made every 1,000 s: the time that the test itself takes does not matter.
    assert sum(slept) >= 0.9 * 1000 * sum(range(1, len(calls)))


async def test_a_rate_limiter_spaces_calls_evenly() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(round(seconds, 1))
        await asyncio.sleep(0)

    rate_limiter = RateLimiter(60, sleep)
    await rate_limiter.spend()
    await rate_limiter.spend(3)
    await rate_limiter.spend()
    assert slept == [1.0, 4.0]


def test_findings_keep_a_few_examples_of_each_kind() -> None:
    findings = Findings()
    findings.add("missing", [str(n) for n in range(50)])
    findings.add("missing", ["more"])
    assert (findings.missing, len(findings.examples["missing"])) == (51, 20)
