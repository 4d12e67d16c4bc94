"""An erasure of blobs: the objects go before their rows and these before the receipt, wherever a process is killed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import UpstreamUnavailable
from app.domain.memory import NewMemory
from app.services.blobs.blobs import Blobs
from app.storage.system import blobs as statements
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, indexer_of
from tests.support.objects import WatchedObjects, at, keys
from tests.support.tables import rows_of


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        bench.backends = replace(bench.backends, objects=WatchedObjects(bench.backends.objects))
        bench.indexer = indexer_of(bench.database, bench.backends)
        yield bench


async def put(bench: Bench, agent: str | None, tenant: str = "acme", data: bytes = b"x") -> str:
    sent = await Blobs(bench.backends.of_tenant(tenant, ADMINISTRATOR)).put(agent, data, "text/plain")
    return f"t/{tenant}/{sent.id}"


async def receipt(bench: Bench, id_: str) -> Any:
    done = (await bench.gateway.erasure(id_)).receipt
    return done if done is None else done["erased"]["blobs"]


async def rows(bench: Bench) -> int:
    return len(await rows_of(bench, "blob", "id"))


async def test_an_erased_agent_leaves_no_blob_and_no_others_is_touched(bench: Bench) -> None:
    for _ in range(3):
        await put(bench, "bot")
    kept = sorted([await put(bench, "other"), await put(bench, None), await put(bench, "bot", "neighbour")])
    accepted = await bench.gateway.erase("bot")
    assert accepted.receipt is None
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 3
    assert sorted(await keys(bench.backends.objects)) == kept
    assert await rows(bench) == 3


async def test_an_erased_tenant_leaves_no_blob_of_an_agent_or_of_its_own(bench: Bench) -> None:
    for agent in ("bot", "other", None):
        await put(bench, agent)
    kept = await put(bench, None, "neighbour")
    await bench.gateway.store("bot", NewMemory("one"))
    accepted = await bench.gateway.erase(None)
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 3
    assert await keys(bench.backends.objects) == [kept]


async def test_only_a_blob_of_its_own_keeps_a_tenant_from_being_erased_at_once(bench: Bench) -> None:
    await put(bench, None)
    assert (await bench.gateway.erase("bot")).receipt is not None
    accepted = await bench.gateway.erase(None)
    assert accepted.receipt is None
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 1


async def test_more_blobs_than_one_step_takes_are_all_erased(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(7):
        await put(bench, "bot")
    monkeypatch.setattr("app.indexing.jobs.erase_blobs.MAX_ERASED", 3)
    monkeypatch.setattr(statements, "_OF_ERASURE", statements._OF_ERASURE.replace("LIMIT 100", "LIMIT 3"))  # noqa: SLF001
    accepted = await bench.gateway.erase("bot")
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 7
    assert await keys(bench.backends.objects) == []


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_an_erasure_that_is_killed_at_an_object_goes_on_and_counts_each_once(
    bench: Bench, moment: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.indexing.jobs.erase_blobs.AT_ONCE", 1)
    for _ in range(3):
        await put(bench, "bot")
    accepted = await bench.gateway.erase("bot")
    left = number

    async def kill(operation: str, key: str) -> None:
        nonlocal left
        del key
        left -= operation == "delete"
        if left == 0:
            raise Killed

    setattr(bench.backends.objects, moment, kill)
    with pytest.raises(Killed):
        await bench.quiet()
    assert await receipt(bench, accepted.id) is None
    assert await rows(bench) == 3
    bench.backends = replace(bench.backends, objects=bench.backends.objects.inner)
    bench.indexer = indexer_of(bench.database, bench.backends)
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 3
    assert (await keys(bench.backends.objects), await rows(bench)) == ([], 0)


@pytest.mark.parametrize("done", [True, pytest.param(False, marks=pytest.mark.thorough)])
async def test_an_erasure_that_is_killed_at_any_run_of_the_database_goes_on_and_counts_each_once(
    bench: Bench,
    done: bool,  # noqa: FBT001 - pytest names it
) -> None:
    expected = []
    for number in range(1, 12):
        for _ in range(2):
            await put(bench, "bot")
        accepted = await bench.gateway.erase("bot")
        run, left = type(bench.database).run, number

        async def killed(database: Any, given: Any, run: Any = run) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and not done:
                raise Killed
            answer = await run(database, given)
            if left == 0:
                raise Killed
            return answer

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(bench.database), "run", killed)
            try:
                await bench.indexer.round()
                await bench.indexer.round()
            except Killed:
                expected.append(number)
        if await receipt(bench, accepted.id) is not None:
            assert (await keys(bench.backends.objects), await rows(bench)) == ([], 0)
        bench.indexer = indexer_of(bench.database, bench.backends)
        await bench.quiet()
        assert await receipt(bench, accepted.id) == 2
        assert (await keys(bench.backends.objects), await rows(bench)) == ([], 0)
    assert len(expected) >= 4


async def test_an_erasure_waits_for_an_object_that_may_still_come_and_takes_it_with_it(bench: Bench) -> None:
    objects = bench.backends.objects
    objects.before = at("put", Killed())
    with pytest.raises(Killed):
        await put(bench, "bot")
    ((row),) = await rows_of(bench, "blob", "id")
    accepted = await bench.gateway.erase("bot")
    await bench.quiet(seconds=10)
    assert await receipt(bench, accepted.id) is None
    await objects.inner.put(f"t/acme/{row['id']}", b"late", "text/plain")  # it was on its way
    await bench.quiet(seconds=10)
    assert await receipt(bench, accepted.id) is None
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 1
    assert await keys(objects) == []


async def test_an_outage_of_the_object_store_holds_up_its_own_erasures_alone(bench: Bench) -> None:
    await put(bench, "bot")
    await bench.gateway.store("other", NewMemory("one"))
    bench.backends.objects.before = at("delete", UpstreamUnavailable("away"))
    await put(bench, "third")
    first, second = await bench.gateway.erase("bot"), await bench.gateway.erase("other")
    third = await bench.gateway.erase("third")
    await bench.quiet(seconds=1)
    assert bench.backends.objects.calls.count("delete") == 1  # it is left alone for a while
    await bench.quiet()
    assert [await receipt(bench, each.id) for each in (first, third)] == [None, None]
    assert await receipt(bench, second.id) == 0
    bench.backends = replace(bench.backends, objects=bench.backends.objects.inner)
    bench.indexer = indexer_of(bench.database, bench.backends)
    await bench.quiet()
    assert await receipt(bench, first.id) == 1
