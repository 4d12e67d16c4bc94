"""An erasure takes every snapshot that may hold something of its scope, and its receipt counts them."""

from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import Erasing, UpstreamUnavailable
from app.domain.memory import NewMemory
from app.runtime.snapshots import snapshot_all
from tests.services.snapshots.tenants import fill, grow_old, keeper, known, objects_of, whole
from tests.support.dying import Killed
from tests.support.gateways import Bench, indexer_of
from tests.support.memories import memory_rows
from tests.support.objects import at
from tests.support.tables import delete_rows, set_rows


async def receipt(bench: Bench, id_: str) -> Any:
    done = (await bench.gateway.erasure(id_)).receipt
    return done if done is None else done["erased"]["snapshots"]


async def test_an_erased_tenant_leaves_no_snapshot_and_no_other_s_is_touched(bench: Bench) -> None:
    await fill(bench)
    await fill(bench, "neighbour")
    await keeper(bench).keep(3)
    await keeper(bench).keep(3)
    kept = await keeper(bench, "neighbour").keep(3)
    accepted = await bench.gateway.erase(None)
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 2
    assert (await objects_of(bench), await known(bench)) == ([], [("neighbour", "stored")])
    assert await whole(bench, "neighbour") == [kept]


async def test_an_erased_agent_takes_the_snapshots_that_hold_it_and_a_new_one_without_it_is_made(bench: Bench) -> None:
    await fill(bench, agents=("other",))
    without = await keeper(bench).keep(5)
    await fill(bench, agents=("bot",))
    await keeper(bench).keep(5)
    await keeper(bench).keep(5)
    accepted = await bench.gateway.erase("bot")
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 2
    assert await whole(bench) == [without]
    bench.later(90_000)
    assert await snapshot_all(bench.backends, 5)
    new, _ = await whole(bench)
    assert (new.agents, new.memories) == (["other"], 6)


async def test_only_a_snapshot_that_holds_an_agent_keeps_its_erasure_from_being_finished_at_once(bench: Bench) -> None:
    await fill(bench, agents=("bot",))
    await keeper(bench).keep(5)
    first = await bench.gateway.erase("nobody")
    assert first.receipt is not None
    assert first.receipt["erased"]["snapshots"] == 0
    for row in await memory_rows(bench, "id"):
        await bench.gateway.delete("bot", str(row["id"]))
    await bench.quiet()
    await delete_rows(bench, "usage")
    await delete_rows(bench, "idempotency")
    second = await bench.gateway.erase("bot")
    assert second.receipt is None
    await bench.quiet()
    assert (await receipt(bench, second.id), await objects_of(bench)) == (1, [])


async def test_no_snapshot_begins_while_something_of_the_tenant_is_being_erased(bench: Bench) -> None:
    await fill(bench)
    accepted = await bench.gateway.erase("bot")
    with pytest.raises(Erasing):
        await keeper(bench).keep(1)
    assert not await known(bench)
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 0
    assert (await keeper(bench).keep(1)).agents == ["other"]


async def test_one_that_is_being_written_is_given_up_and_its_objects_are_waited_for(bench: Bench) -> None:
    await fill(bench)
    accepted: list[Any] = []

    async def erase(operation: str, key: str) -> None:
        if operation == "put" and key.endswith("000001.ndjson") and not accepted:
            accepted.append(await bench.gateway.erase("bot"))
            await bench.indexer.round()

    bench.backends.objects.before = erase
    with pytest.raises(Erasing):
        await keeper(bench).keep(1)
    await bench.quiet(seconds=10)
    assert await receipt(bench, accepted[0].id) is None  # an object of it may still come
    grow_old(bench)
    await bench.quiet()
    assert await receipt(bench, accepted[0].id) == 1
    assert (await objects_of(bench), await known(bench)) == ([], [])


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 4])
async def test_an_erasure_that_is_killed_at_an_object_goes_on_and_counts_each_once(
    bench: Bench, moment: str, number: int
) -> None:
    await fill(bench)
    for _ in range(2):
        await keeper(bench).keep(5)
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
    bench.backends = replace(bench.backends, objects=bench.backends.objects.inner)
    bench.indexer = indexer_of(bench.database, bench.backends)
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 2
    assert (await objects_of(bench), await known(bench)) == ([], [])


async def test_an_erasure_waits_for_an_object_store_that_does_not_answer(bench: Bench) -> None:
    await fill(bench)
    await keeper(bench).keep(1)
    bench.backends.objects.before = at("delete", UpstreamUnavailable("away"))
    accepted = await bench.gateway.erase("bot")
    await bench.quiet()
    assert await receipt(bench, accepted.id) is None
    bench.backends = replace(bench.backends, objects=bench.backends.objects.inner)
    bench.indexer = indexer_of(bench.database, bench.backends)
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 1


async def test_code_that_knows_no_snapshots_writes_no_receipt_where_one_is_there(bench: Bench) -> None:
    await fill(bench)
    await keeper(bench).keep(1)
    accepted = await bench.gateway.erase("bot")
    await set_rows(bench, "erasure", {"receipt": "{}"})
    assert (await bench.gateway.erasure(accepted.id)).receipt is None


async def test_a_snapshot_of_more_agents_than_a_manifest_names_goes_with_any_of_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.snapshots.writing.MAX_AGENTS", 1)
    await fill(bench)
    assert (await keeper(bench).keep(1)).agents is None
    await bench.tenant("acme").store("third", NewMemory("later"))
    accepted = await bench.gateway.erase("third")
    await bench.quiet()
    assert await receipt(bench, accepted.id) == 1
