"""Shared documents: compared and set, counted, bounded, and read through a cache of a stated staleness."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.domain import limits
from app.domain.errors import (
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    QuotaExceeded,
    Unavailable,
)
from app.domain.preconditions import Precondition
from app.services.tenant.context_cache import ContextCache
from app.services.tiers.context import SharedContext
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed

NEW, SECONDS = Precondition(absent=True), 30


class Clock:
    def __init__(self) -> None:
        self.now = 1_790_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


def process(bench: Bench, clock: Clock | None = None, budget: int = 10**6, seconds: int = SECONDS) -> Any:
    """The backends of one process over the same database."""
    return with_changed(bench.backends, clock=clock or Clock(), context=ContextCache(budget, seconds))


def tier(backends: Any, tenant: str = "acme") -> SharedContext:
    return SharedContext(backends.of_tenant(tenant, ADMINISTRATOR))


async def put(service: SharedContext, name: str, content: str, only: Precondition | None = None) -> int:
    return (await service.put(name, content, "text/markdown", only or Precondition())).version


async def test_each_change_is_a_version_and_the_same_content_none(bench: Bench) -> None:
    service = tier(process(bench))
    assert [await put(service, "a", text) for text in ("x", "x", "y", "x")] == [1, 1, 2, 3]
    assert (await service.put("a", "x", "text/plain")).version == 4
    document = (await service.get("a")).document
    assert (document.content, document.size, document.media_type) == ("x", 1, "text/plain")
    assert (await service.get("a", 2)).document.content == "y"
    assert [each.version for each in await service.versions("a")] == [4, 3, 2, 1]
    assert [(each.name, each.version) for each in await service.listed()] == [("a", 4)]
    for call in (service.get("b"), service.get("a", 5), service.versions("b")):
        with pytest.raises(NotFound):
            await call


async def test_twenty_versions_are_kept(bench: Bench) -> None:
    service = tier(process(bench))
    for number in range(23):
        await put(service, "a", str(number))
    assert [each.version for each in await service.versions("a")] == list(range(23, 3, -1))
    with pytest.raises(NotFound):
        await service.get("a", 3)


async def test_no_version_of_a_name_comes_back_after_it_was_deleted(bench: Bench) -> None:
    service = tier(process(bench))
    await put(service, "a", "x")
    await put(service, "a", "y")
    for _ in range(2):
        await service.delete("a")
    with pytest.raises(NotFound):
        await service.get("a")
    assert await put(service, "a", "y", NEW) == 3
    assert await put(tier(process(bench), "globex"), "a", "y") == 1


async def test_of_writers_that_have_seen_the_same_one_wins(bench: Bench) -> None:
    processes = [tier(process(bench)) for _ in range(4)]
    outcomes = await asyncio.gather(
        *(put(service, "a", f"{number}", NEW) for number, service in enumerate(processes)), return_exceptions=True
    )
    assert sorted(str(type(each).__name__) for each in outcomes) == ["PreconditionFailed"] * 3 + ["int"]
    for only in (NEW, Precondition(["7"]), Precondition([])):
        with pytest.raises(PreconditionFailed):
            await put(processes[0], "a", "z", only)
    assert await put(processes[0], "a", "z", Precondition(["7", "1"])) == 2
    assert await put(processes[0], "a", "zz", Precondition(["*"])) == 3
    for only in (Precondition(["*"]), Precondition(["1"])):
        with pytest.raises(PreconditionFailed):
            await put(processes[0], "none", "z", only)


async def test_a_hundred_increments_by_compare_and_set_lose_none(bench: Bench) -> None:
    await put(tier(process(bench)), "n", "0")

    async def count(service: SharedContext) -> None:
        for _ in range(10):
            while True:
                held = (await service.get("n")).document
                try:
                    await put(service, "n", str(int(held.content) + 1), Precondition([str(held.version)]))
                    break
                except PreconditionFailed:
                    continue

    await asyncio.gather(*(count(tier(process(bench, seconds=0))) for _ in range(10)))
    document = (await tier(process(bench)).get("n")).document
    assert (document.content, document.version) == ("100", 101)


async def test_a_write_that_is_made_again_is_made_once(bench: Bench) -> None:
    """The answer is lost, another writes, and the adapter makes the run again."""
    service, other = tier(process(bench)), tier(process(bench))
    runs: list[Any] = []
    inner = bench.database.run

    async def recorded(statements: Any) -> Any:
        runs.append(statements)
        return await inner(statements)

    bench.database.run = recorded  # type: ignore[method-assign]
    await put(service, "a", "mine", NEW)
    bench.database.run = inner  # type: ignore[method-assign]
    await put(other, "a", "theirs")
    *_, rows, _ = await bench.database.run(runs[0])
    assert rows[0]["version"] == 1
    assert (await tier(process(bench)).get("a")).document.content == "theirs"


async def test_a_process_sees_its_writes_at_once_and_those_of_another_within_the_staleness(bench: Bench) -> None:
    clock = Clock()
    here, there = tier(process(bench, clock)), tier(process(bench, clock))
    await put(here, "a", "1")
    assert (await there.get("a")).age == 0
    clock.now += 29_999
    await put(here, "a", "2")
    assert (await here.get("a")).document.content == "2"
    stale = await there.get("a")
    assert (stale.document.content, stale.age) == ("1", 29_999)
    clock.now += 1
    assert (await there.get("a")).document.content == "2"
    await here.delete("a")
    with pytest.raises(NotFound):
        await here.get("a")
    assert (await there.get("a")).document.content == "2"
    clock.now += 30_000
    with pytest.raises(NotFound):
        await there.get("a")


async def test_in_an_outage_what_was_read_lately_is_served_and_nothing_is_absent(bench: Bench) -> None:
    clock = Clock()
    service = tier(process(bench, clock))
    await put(service, "a", "1")
    await service.get("a")
    bench.database.error = Unavailable("away")
    clock.now += 29_000
    assert (await service.get("a")).document.content == "1"
    assert [each.content for each in await service.documents(["a"])] == ["1"]
    for call in (service.get("b"), service.documents(["a", "b"]), service.documents(), service.configuration()):
        with pytest.raises(Unavailable):
            await call
    clock.now += 1_000
    with pytest.raises(Unavailable):
        await service.get("a")


async def test_a_read_that_a_write_has_overtaken_is_not_kept(bench: Bench) -> None:
    backends = process(bench)
    service = tier(backends)
    await put(service, "a", "1")
    changes = backends.caches.context.changes
    old = await service.documents(["a"])
    await put(service, "a", "2")
    backends.caches.context.put_documents("acme", old, backends.clock(), changes)
    assert (await service.get("a")).document.content == "2"


async def test_documents_come_in_the_order_asked_for_from_one_run_at_most(bench: Bench) -> None:
    service = tier(process(bench))
    for name in ("b", "a", "c"):
        await put(service, name, name * 2)
    await service.configure({"k": 1})
    await service.get("c")
    bench.database.journal.clear()
    assert [each.content for each in await service.documents(["c", "none", "a", "c"])] == ["cc", "aa"]
    assert [each.name for each in await service.documents()] == ["a", "b", "c"]
    assert [each.name for each in await service.documents()] == ["a", "b", "c"]
    assert len(bench.database.journal) <= 2
    assert await tier(process(bench), "globex").documents() == []
    with pytest.raises(InvalidRequest):
        await service.documents(["/configuration"])


async def test_the_configuration_is_one_document_of_its_own(bench: Bench) -> None:
    service = tier(process(bench))
    with pytest.raises(NotFound):
        await service.configuration()
    written: list[dict[str, Any]] = [{"a": None}, {"a": None}, {"b": [1]}]
    assert [(await service.configure(each)).version for each in written] == [1, 1, 2]
    assert (await service.configuration()).document.content == '{"b":[1]}'
    assert (await service.configuration(1)).document.content == '{"a":null}'
    with pytest.raises(PreconditionFailed):
        await service.configure({}, Precondition(["1"]))
    assert await service.listed() == []
    for call in (service.get("/configuration"), service.delete("/configuration"), put(service, "/configuration", "x")):
        with pytest.raises(InvalidRequest) as refused:
            await call
        assert [each.field for each in refused.value.errors] == ["name"]


async def test_the_limits_of_documents_and_bytes_refuse_what_is_over(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_CONTEXT_DOCUMENTS", 2)
    monkeypatch.setattr(limits, "MAX_CONTEXT_BYTES", 10)
    monkeypatch.setattr(limits, "MAX_CONTEXT_VERSIONS", 2)
    service = tier(process(bench))
    await put(service, "a", "1234")
    await put(service, "b", "")
    with pytest.raises(QuotaExceeded) as full:
        await put(service, "c", "")
    assert full.value.reached == "context_documents;scope=tenant;used=2;limit=2"
    await put(service, "a", "5678")
    with pytest.raises(QuotaExceeded) as full:
        await put(service, "b", "123")
    assert full.value.reached == "context_bytes;scope=tenant;used=8;limit=10"
    assert await put(service, "a", "123456") == 3  # the first version goes
    await service.configure({"long": "more than all"})
    assert await put(tier(process(bench), "globex"), "c", "1234") == 1


async def test_the_cache_holds_no_more_bytes_than_it_may(bench: Bench) -> None:
    backends = process(bench, budget=5_000)
    service = tier(backends)
    for number in range(9):
        await put(service, f"d{number}", "x" * 800)
        await service.get(f"d{number}")
        assert backends.caches.context.held <= 5_000
    bench.database.error = Unavailable("away")
    assert (await service.get("d8")).document.size == 800
    with pytest.raises(Unavailable):
        await service.get("d0")
