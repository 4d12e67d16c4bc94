"""What an archive meets: objects that are gone, restores that meet another or an erasure, clocks, limits, many rows."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.domain.errors import Erasing, NotFound, ObjectGone, QuotaExceeded
from app.domain.memory import NewMemory
from app.services.archive.moving import ArchiveMover
from app.services.archive.reading import Archives
from app.services.transfer.export import Export
from app.storage.archive import ArchivedObject
from tests.services.archive.test_archive import (
    EPISODIC,
    NEW,
    OLD,
    archives,
    everywhere,
    fill,
    move,
    recalled,
    restore,
)
from tests.support.gateways import Bench
from tests.support.memories import contents, memory_column, memory_rows, set_memories
from tests.support.objects import keys
from tests.support.tables import Not, rows_of, set_rows
from tests.support.tier_rows import added, row_of

DAY_MS = 86_400_000


async def archived(bench: Bench) -> ArchivedObject:
    await fill(bench)
    await move(bench)
    (object_,) = await archives(bench).list()
    return object_


async def move_all(bench: Bench, tenant: str, agent: str) -> int:
    now = bench.backends.clock()
    return await ArchiveMover(bench.backends.of_tenant(tenant), agent).move(now + 60_000, now=now)


async def spoil(bench: Bench, object_: ArchivedObject, how: str) -> str:
    """Take an object away, change a byte of it or cut it in half; return its key."""
    key = f"t/acme/{object_.id}"
    data = await bench.backends.objects.get(key, most=object_.size)
    await bench.backends.objects.delete(key)
    if how != "missing":
        spoilt = data[:-3] + b"!" + data[-2:] if how == "changed" else data[: len(data) // 2]
        await bench.backends.objects.put(key, spoilt, "text/plain")
    return key


def once(wanted: str, act: Callable[[], Awaitable[Any]]) -> Callable[[str, str], Awaitable[None]]:
    """Act at the first call of this operation."""
    acted = False

    async def moment(operation: str, key: str) -> None:
        nonlocal acted
        del key
        if operation == wanted and not acted:
            acted = True
            await act()

    return moment


@pytest.mark.parametrize("how", ["missing", "changed", "half"])
async def test_a_spoilt_object_is_named_in_every_way_of_reading_it_and_is_still_listed(bench: Bench, how: str) -> None:
    object_ = await archived(bench)
    key = await spoil(bench, object_, how)
    reads: list[Callable[[], Awaitable[Any]]] = [
        lambda: archives(bench).item(object_.first_id),
        lambda: archives(bench).read(object_),
        lambda: restore(bench, object_.id),
    ]
    for read in reads:
        with pytest.raises(ObjectGone, match=f"{key} is missing or has changed") as gone:
            await read()
        assert (gone.value.status, gone.value.code) == (410, "object_gone")
    for asked in ({}, {"agent_id": "bot"}, {"since": object_.first_at, "until": object_.last_at}):
        assert await archives(bench).list(**asked) == [object_]
    assert await contents(bench) == NEW


@pytest.mark.parametrize("how", ["missing", "changed", "half"])
async def test_a_spoilt_object_is_erased_and_counted_as_any_other(bench: Bench, how: str) -> None:
    await spoil(bench, await archived(bench), how)
    accepted = await bench.gateway.erase("bot")
    await bench.quiet()
    receipt = (await bench.gateway.erasure(accepted.id)).receipt
    assert receipt is not None
    assert (receipt["erased"]["archives"], receipt["erased"]["blobs"]) == (1, 1)
    assert await keys(bench.backends.objects, "t") == []


async def test_a_spoilt_object_hides_no_item_of_another_one(bench: Bench) -> None:
    object_ = await archived(bench)
    await spoil(bench, object_, "changed")
    await set_rows(bench, "archive", {"id_ends": None, "first_id": "0", "last_id": "ZZZ"})  # it may have any item
    await bench.gateway.store("bot", NewMemory("later"))
    await asyncio.sleep(0.002)  # its object's id is of a later millisecond
    (row,) = await memory_rows(bench, "id", content="later")
    assert await move_all(bench, "acme", "bot") == 2
    found, item = await archives(bench).item(str(row["id"]))
    assert (found.items, item["content"]) == (2, "later")
    with pytest.raises(ObjectGone):  # it may be in the one that cannot be read
        await archives(bench).item("01K2Z4M1V7Q8T3B5N6C7D8E9FA")


async def test_an_item_is_read_from_its_object_alone_however_many_agents_have_one_of_that_time(bench: Bench) -> None:
    for number in range(6):
        await fill(bench, agent=f"bot{number}")
        await move_all(bench, "acme", f"bot{number}")
    await set_rows(bench, "archive", {"first_id": "0", "last_id": "ZZZ"})
    objects = await archives(bench).list()
    assert len(objects) == 6
    bench.backends.objects.calls.clear()
    data = await archives(bench).read(objects[2])
    id_ = data.split(b'"id":"')[1][:26].decode()
    assert (await archives(bench).item(id_))[0] == objects[2]
    assert bench.backends.objects.calls == ["get", "get"]
    with pytest.raises(NotFound):
        await archives(bench).item("01K2Z4M1V7Q8T3B5N6C7D8E9FA")
    assert bench.backends.objects.calls == ["get", "get"]


async def test_what_was_restored_is_not_archived_again_before_its_days_are_over(bench: Bench) -> None:
    object_ = await archived(bench)
    await restore(bench, object_.id, days=5)
    assert await move(bench) == 0
    assert await recalled(bench) == sorted(OLD + NEW)
    bench.later(5 * 86_400)
    assert await move(bench) == 3
    assert (await everywhere(bench), len(await rows_of(bench, "archive", "id"))) == (sorted(OLD + NEW), 1)


async def test_episodes_and_runs_that_were_restored_stay_and_what_was_never_archived_goes(bench: Bench) -> None:
    await fill(bench)
    for tier in EPISODIC:
        rows = [row_of(tier, n) for n in range(2)]
        if tier.kind == "runs":
            rows = [row | {"status": "completed", "output": "1", "ended_at": row["started_at"]} for row in rows]
        await added(bench, "acme", tier, rows)
    assert await move(bench) == 3 + 2 + 2
    for object_ in await archives(bench).list():
        await restore(bench, object_.id)
    assert await move(bench) == 0
    await fill(bench, agent="other")
    assert await move(bench, agent="other") == 3


async def test_two_restores_at_once_store_each_item_once(bench: Bench) -> None:
    object_ = await archived(bench)
    ended = await asyncio.gather(*(restore(bench, object_.id) for _ in range(2)), return_exceptions=True)
    assert not [each for each in ended if isinstance(each, BaseException) and not isinstance(each, NotFound)]
    await bench.delivered()
    assert (await everywhere(bench), await recalled(bench)) == (sorted(OLD + NEW), sorted(OLD + NEW))
    assert await archives(bench).list() == []


async def test_what_was_deleted_after_another_restore_does_not_come_back(bench: Bench) -> None:
    object_ = await archived(bench)
    watched = bench.backends.objects

    async def restored_and_deleted() -> None:
        await restore(bench, object_.id)
        for row in await memory_rows(bench, "id", content=Not("new")):
            await bench.gateway.delete("bot", str(row["id"]))

    watched.after = once("get", restored_and_deleted)
    with pytest.raises(NotFound):
        await restore(bench, object_.id)
    assert await everywhere(bench) == NEW


@pytest.mark.parametrize("whose", ["bot", None])
async def test_what_was_erased_after_its_object_was_read_does_not_come_back(bench: Bench, whose: str | None) -> None:
    object_ = await archived(bench)
    accepted: list[Any] = []

    async def erased() -> None:
        accepted.append(await bench.gateway.erase(whose))
        await bench.quiet()
        assert (await bench.gateway.erasure(accepted[0].id)).receipt is not None

    bench.backends.objects.after = once("get", erased)
    with pytest.raises(NotFound):
        await restore(bench, object_.id)
    assert (await everywhere(bench), await keys(bench.backends.objects, "t")) == ([], [])


async def test_while_its_agent_is_being_erased_nothing_is_restored(bench: Bench) -> None:
    object_ = await archived(bench)

    async def erased() -> None:
        await bench.gateway.erase("bot")

    bench.backends.objects.after = once("get", erased)
    with pytest.raises(Erasing):
        await restore(bench, object_.id)
    assert not set(OLD) & {str(row["content"]) for row in await memory_rows(bench, "content")}


async def test_what_expired_in_the_archive_does_not_keep_its_object_from_being_let_go(bench: Bench) -> None:
    await fill(bench)
    soon = bench.backends.clock() + 2_000
    await set_memories(bench, {"expires_at": soon}, content="old 1")
    assert await move(bench) == 3
    (object_,) = await archives(bench).list()
    bench.later(2.01)
    summary = await restore(bench, object_.id)
    assert (summary["imported"], summary["rejected"]) == (2, 1)
    assert (await archives(bench).list(), await everywhere(bench)) == ([], ["new", "old 0", "old 2"])


async def test_an_object_of_which_an_item_conflicts_stays(bench: Bench) -> None:
    object_ = await archived(bench)
    await set_memories(bench, {"id": object_.first_id}, content="new")
    assert (await restore(bench, object_.id))["conflict"] == 1
    assert await archives(bench).list() == [object_]


async def test_an_export_has_what_is_archived_once_it_is_restored_and_not_before(bench: Bench) -> None:
    object_ = await archived(bench)

    async def exported() -> set[str]:
        data = b"".join([chunk async for chunk in Export(bench.backends.of_tenant("acme")).chunks()])
        return {content for content in OLD + NEW if f'"content":"{content}"'.encode() in data}

    assert await exported() == set(NEW)
    await restore(bench, object_.id)
    assert await exported() == set(OLD + NEW)


async def test_at_the_limit_of_blobs_nothing_is_archived_and_nothing_is_lost(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await archived(bench)
    await fill(bench, agent="other")
    monkeypatch.setattr("app.services.blobs.blobs.limits.MAX_BLOBS", 1)
    with pytest.raises(QuotaExceeded):
        await move(bench, agent="other")
    assert await everywhere(bench) == sorted(OLD + NEW + OLD + NEW)
    assert len(await keys(bench.backends.objects, "t")) == 1


@pytest.mark.parametrize("tenant", ["..", ".", "a.b", "acme:eu"])
async def test_a_tenant_of_any_name_has_an_archive_of_its_own(bench: Bench, tenant: str) -> None:
    await fill(bench, tenant)
    await fill(bench)
    assert await move_all(bench, tenant, "bot") == 4
    (object_,) = await Archives(bench.backends.of_tenant(tenant)).list()
    assert (await Archives(bench.backends.of_tenant(tenant)).item(object_.first_id))[0] == object_
    assert await archives(bench).list() == []
    assert len(await keys(bench.backends.objects, "t")) == 1


async def test_a_clock_that_goes_back_archives_nothing_early_and_nothing_twice(bench: Bench) -> None:
    await fill(bench)
    first = min(await memory_column(bench, "created_at"))
    assert await ArchiveMover(bench.backends.of_tenant("acme"), "bot").move(first - DAY_MS, now=first - DAY_MS) == 0
    assert await move(bench) == 3
    assert await ArchiveMover(bench.backends.of_tenant("acme"), "bot").move(first - DAY_MS, now=first - DAY_MS) == 0
    assert await everywhere(bench) == sorted(OLD + NEW)


async def test_many_rows_go_in_steps_of_so_many(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(bench)
    (tier,) = [tier for tier in EPISODIC if tier.kind == "episodes"]
    for first in range(0, 350, 50):
        await added(bench, "acme", tier, [row_of(tier, n) for n in range(first, first + 50)])
    rows: list[int] = []
    run = type(bench.database).run

    async def counted(database: Any, statements: Any) -> Any:
        answer = await run(database, statements)
        rows.extend(len(each) for each in answer)
        return answer

    monkeypatch.setattr(type(bench.database), "run", counted)
    assert await move(bench) == 3 + 350
    objects = await archives(bench).list(kind="episodes")
    assert [each.items for each in objects] == [50, 100, 100, 100]
    assert max(rows) == 100
