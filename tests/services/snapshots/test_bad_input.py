"""What snapshots meet: objects that are gone, restores that meet another or an erasure, and clocks that go back."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.domain.errors import Erasing, NotFound, ObjectGone
from app.domain.memory import NewMemory
from app.runtime.snapshots import snapshot_all
from tests.services.snapshots.tenants import fill, keeper, known, objects_of, restored, snapshots
from tests.support.dying import killed_at
from tests.support.gateways import Bench
from tests.support.memories import contents, memory_rows
from tests.support.tables import shift_rows

DAY_MS = 86_400_000


def at_part(number: int, act: Callable[[], Awaitable[Any]]) -> Callable[[str, str], Awaitable[None]]:
    """Act once, after so many parts were read."""
    read = 0

    async def moment(operation: str, key: str) -> None:
        nonlocal read
        read += operation == "get" and key.endswith(".ndjson")
        if read == number and operation == "get":
            read += 1
            await act()

    return moment


async def empty(bench: Bench) -> None:
    for row in await memory_rows(bench, "id", "agent_id", tenant_id="acme"):
        await bench.gateway.delete(str(row["agent_id"]), str(row["id"]))
    await bench.delivered()


@pytest.mark.parametrize("done", [True, False])
async def test_a_restore_that_is_killed_anywhere_is_done_by_the_next(bench: Bench, *, done: bool) -> None:
    await fill(bench, agents=("bot",))
    made = await keeper(bench).keep(1)
    before, number = await contents(bench, tenant_id="acme"), 1
    while True:
        target = f"target-{number}"
        died = await killed_at(bench, number, lambda to=target: restored(bench, made, to), done=done)  # type: ignore[misc]
        assert set(await contents(bench, tenant_id=target)) <= set(before)
        summary = await restored(bench, made, target)
        assert (summary["rejected"], summary["conflict"], await contents(bench, tenant_id=target)) == (0, 0, before)
        await bench.delivered()
        number += 1
        if not died:
            break
    assert number > 5


async def test_two_restores_at_once_store_each_memory_once(bench: Bench) -> None:
    await fill(bench)
    made, before = await keeper(bench).keep(1), await contents(bench, tenant_id="acme")
    await empty(bench)
    await asyncio.gather(*(restored(bench, made, "acme") for _ in range(2)))
    assert await contents(bench, tenant_id="acme") == before


@pytest.mark.parametrize("whose", ["bot", None])
async def test_what_was_erased_while_it_is_restored_does_not_come_back(bench: Bench, whose: str | None) -> None:
    await fill(bench)
    made = await keeper(bench).keep(1)

    async def erased() -> None:
        accepted = await bench.gateway.erase(whose)
        await bench.quiet()
        assert (await bench.gateway.erasure(accepted.id)).receipt is not None

    bench.backends.objects.after = at_part(2 * len(made.parts), erased)  # all are checked, and read again
    with pytest.raises((Erasing, ObjectGone)):
        await restored(bench, made, "acme")
    assert not [
        content for content in await contents(bench, tenant_id="acme") if whose is None or content.startswith("bot")
    ]


async def test_a_part_that_goes_after_the_check_is_named_and_the_restore_ends(bench: Bench) -> None:
    await fill(bench)
    made = await keeper(bench).keep(1)
    gone = f"s/acme/{made.id}/000001.ndjson"
    bench.backends.objects.after = at_part(len(made.parts), lambda: bench.backends.objects.inner.delete(gone))
    with pytest.raises(ObjectGone, match=f"{gone} is missing"):
        await restored(bench, made, "globex")


async def test_a_manifest_that_is_missing_where_there_are_parts_is_named(bench: Bench) -> None:
    await fill(bench)
    made = await keeper(bench).keep(1)
    await bench.backends.objects.delete(f"s/acme/{made.id}/manifest.json")
    with pytest.raises(ObjectGone, match=f"s/acme/{made.id}/manifest.json is missing"):
        await snapshots(bench).manifest(made.id)
    with pytest.raises(NotFound):
        await snapshots(bench).manifest("01K2Z4M1V7Q8T3B5N6C7D8E9FA")


async def test_a_damaged_manifest_hides_no_other_snapshot(bench: Bench) -> None:
    await fill(bench)
    first, second = await keeper(bench).keep(2), await keeper(bench).keep(2)
    await bench.backends.objects.put(f"s/acme/{first.id}/manifest.json", b"{}", "application/json")
    whole, why = await snapshots(bench).list()
    assert whole == second
    assert isinstance(why, ObjectGone)
    assert f"s/acme/{first.id}/manifest.json is damaged" in str(why.detail)


async def test_a_snapshot_that_has_lost_its_manifest_takes_no_other_s_place(bench: Bench) -> None:
    await fill(bench)
    first, second = await keeper(bench).keep(2), await keeper(bench).keep(2)
    await bench.backends.objects.delete(f"s/acme/{second.id}/manifest.json")
    third = await keeper(bench).keep(2)
    assert await snapshots(bench).list() == [third, first]
    fourth = await keeper(bench).keep(2)
    assert await snapshots(bench).list() == [fourth, third]
    assert {key.split("/")[2] for key in await objects_of(bench)} == {second.id, third.id, fourth.id} - {second.id}
    assert await known(bench) == [("acme", "stored")] * 2


async def test_a_clock_that_went_back_leaves_the_new_one_and_keeps_no_night_from_having_one(bench: Bench) -> None:
    await fill(bench)
    ahead = await keeper(bench).keep(1)
    future = "7" + ahead.id[1:]  # as a clock that is ahead makes them
    await shift_rows(bench, "snapshot", {"created_at": (10 * DAY_MS)})
    await bench.backends.objects.put(f"s/acme/{future}/left", b"left", "text/plain")
    assert await snapshot_all(bench.backends, 1)
    (made,) = await snapshots(bench).list()
    assert made != ahead


async def test_what_is_stored_after_a_restore_has_ended_is_not_refused(bench: Bench) -> None:
    await fill(bench)
    made = await keeper(bench).keep(1)
    accepted = await bench.gateway.erase("nobody")
    assert accepted.receipt is not None
    await asyncio.sleep(0.002)  # an erasure of before the restore is none of it
    assert (await restored(bench, made, "acme"))["end"] == "holds"
    await bench.gateway.store("bot", NewMemory("later"))
    assert "later" in await contents(bench, tenant_id="acme")
