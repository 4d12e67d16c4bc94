"""What is old is moved into the object store: whole, once, findable, and back."""

import asyncio
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import NotFound, ObjectGone
from app.domain.json_types import Scalar
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.runtime.archive import archive_all
from app.services.archive.moving import ArchiveMover
from app.services.archive.reading import Archives
from app.services.transfer.report import ImportReport
from app.services.transfer.verify import verify
from app.storage.system.archive import LEASE
from app.storage.tiers.tables import TIER_TABLES
from tests.services.archive.conftest import indexer
from tests.support.dying import Killed
from tests.support.gateways import ADMINISTRATOR, Bench
from tests.support.memories import contents, memory_column, memory_ids, memory_rows, set_memories
from tests.support.objects import keys
from tests.support.tables import ANY, column_of, rows_of
from tests.support.tier_rows import added, row_of

EPISODIC = [tier for tier in TIER_TABLES if tier.kind in {"runs", "episodes"}]
OLD, NEW = ["old 0", "old 1", "old 2"], ["new"]


async def fill(bench: Bench, tenant: str = "acme", agent: str = "bot") -> list[str]:
    """Give an agent three memories of last year and one of now; return the ids of the old ones."""
    for content in OLD:
        await bench.tenant(tenant).store(agent, NewMemory(content, {"of": content}))
    await bench.delivered()
    old = await memory_ids(bench, by="created_at, id", tenant_id=tenant, agent_id=agent)
    await asyncio.sleep(0.002)  # the new one is of a later millisecond
    await bench.tenant(tenant).store(agent, NewMemory("new"))
    await bench.delivered()
    return old


def archives(bench: Bench, tenant: str = "acme") -> Archives:
    return Archives(bench.backends.of_tenant(tenant))


async def move(bench: Bench, days: int = 0, agent: str = "bot") -> int:
    """Archive what is older than so many days, but not the newest memory."""
    now = max(await memory_column(bench, "created_at", content="new"))
    return await ArchiveMover(bench.backends.of_tenant("acme"), agent).move(now - 1 - days * 86_400_000, now=now)


async def recalled(bench: Bench) -> list[str]:
    return sorted(entry.content for entry in (await bench.gateway.recall("bot", Query("old", top_k=10))).entries)


async def restore(bench: Bench, archive_id: str, **options: Any) -> dict[str, Any]:
    restoring = Archives(bench.backends.of_tenant("acme", replace(ADMINISTRATOR, channel="import")))
    with closing(ImportReport()) as report:
        await restoring.restore(await restoring.one(archive_id), report, **options)
        return dict(report.summary)


async def everywhere(bench: Bench) -> list[str]:
    """The contents of all memories, in the database and in the archive."""
    found = await contents(bench)
    for each in await archives(bench).list():
        data = await archives(bench).read(each)
        assert verify([data]).flaws == 0
        found += [content for content in OLD + NEW if f'"content":"{content}"'.encode() in data]
    return sorted(found)


async def test_what_is_old_is_moved_with_its_vectors_found_by_id_and_not_recalled(bench: Bench) -> None:
    ids = await fill(bench)
    assert await move(bench) == 3
    assert (await bench.queued())["delete"] == 3
    assert (await recalled(bench), await everywhere(bench)) == (NEW, sorted(NEW + OLD))
    (object_,) = await archives(bench).list(agent_id="bot", kind="memories")
    assert (object_.items, object_.agent_id, object_.first_id, object_.last_id) == (3, "bot", min(ids), max(ids))
    for id_, content in zip(ids, OLD, strict=True):
        found, item = await archives(bench).item(id_)
        assert (found, item["content"], item["metadata"]) == (object_, content, {"of": content})
    with pytest.raises(NotFound):
        await archives(bench).item("01K2Z4M1V7Q8T3B5N6C7D8E9FA")
    assert await move(bench) == 0
    await bench.quiet()
    assert await bench.queued() == {}


async def test_objects_are_listed_by_agent_kind_and_time_of_the_tenant_alone(bench: Bench) -> None:
    await fill(bench)
    await move(bench)
    (one,) = await archives(bench).list()
    assert await archives(bench).list(since=one.last_at, until=one.first_at) == [one]
    for none in ({"agent_id": "other"}, {"kind": "runs"}, {"since": one.last_at + 1}, {"until": one.first_at - 1}):
        assert await archives(bench).list(**none) == []
    assert await archives(bench).list(before=one.id) == []
    assert await archives(bench, "globex").list() == []
    with pytest.raises(NotFound):
        await archives(bench, "globex").one(one.id)
    with pytest.raises(NotFound):
        await archives(bench, "globex").item(one.first_id)


async def test_a_restored_object_is_recalled_again_and_let_go(bench: Bench) -> None:
    await fill(bench)
    await move(bench)
    (object_,) = await archives(bench).list()
    summary = await restore(bench, object_.id)
    assert (summary["imported"], summary["end"]) == (3, "holds")
    assert (await recalled(bench), await archives(bench).list()) == (sorted(OLD + NEW), [])
    assert await column_of(bench, "blob", "state") == ["deleting"]  # prune removes it


@pytest.mark.parametrize("spoil", ["missing", "changed"])
async def test_an_object_that_is_missing_or_changed_is_named(bench: Bench, spoil: str) -> None:
    ids = await fill(bench)
    await move(bench)
    (object_,) = await archives(bench).list()
    key = f"t/acme/{object_.id}"
    await (
        bench.backends.objects.delete(key)
        if spoil == "missing"
        else bench.backends.objects.put(key, b"x" * object_.size, "text/plain")
    )
    with pytest.raises(ObjectGone, match=f"{key} is missing or has changed"):
        await archives(bench).item(ids[0])
    with pytest.raises(ObjectGone):
        await restore(bench, object_.id)
    assert await archives(bench).list() == [object_]


async def test_what_changes_while_its_object_is_written_stays(bench: Bench) -> None:
    await fill(bench)

    async def change(operation: str, key: str) -> None:
        if operation == "put" and key.startswith("t/"):
            await set_memories(bench, {"expires_at": 9999999999999}, content="old 1")

    bench.backends.objects.before = change
    assert await move(bench) == 0
    assert (await everywhere(bench), await archives(bench).list()) == (sorted(OLD + NEW), [])
    assert await keys(bench.backends.objects, "t") == []


async def test_what_an_older_memory_has_superseded_does_not_hold_again(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("my colour: red", occurred_at=1_700_000_000_000))
    await bench.gateway.store("bot", NewMemory("my colour: blue", occurred_at=1_600_000_000_000))
    await bench.gateway.store("bot", NewMemory("new"))
    await bench.delivered()
    before = await memory_rows(bench, "content", superseded_at=ANY)
    await move(bench)
    after = await memory_rows(bench, "content", by="content", superseded_at=None)
    held = {row["content"] for row in after}
    assert not held & {row["content"] for row in before}


async def test_episodes_and_ended_runs_are_moved_and_come_back(bench: Bench) -> None:
    await fill(bench)
    for tier in EPISODIC:
        rows = [row_of(tier, n) for n in range(3)]
        if tier.kind == "runs":
            rows = [row | {"status": "completed", "output": "1", "ended_at": row["started_at"]} for row in rows]
            rows[2] |= {"status": "running", "output": None, "ended_at": None}
        await added(bench, "acme", tier, rows)
    await move(bench)
    assert {each.kind: each.items for each in await archives(bench).list()} == {"memories": 3, "episodes": 3, "runs": 2}
    assert [len(await rows_of(bench, tier.table)) for tier in EPISODIC] == [1, 0]
    for kind in ("runs", "episodes"):
        (object_,) = await archives(bench).list(kind=kind)
        assert f'"kind":"{kind}"'.encode() in await archives(bench).read(object_)
        assert (await restore(bench, object_.id))["rejected"] == 0
    assert [len(await rows_of(bench, tier.table)) for tier in EPISODIC] == [3, 3]


async def test_what_was_delegated_stays_with_its_parent(bench: Bench) -> None:
    await fill(bench)
    runs, episodes = EPISODIC if EPISODIC[0].kind == "runs" else reversed(EPISODIC)
    ended: dict[str, Scalar] = {"status": "completed", "output": "1", "ended_at": 1_700_000_000_000}
    parent, child = (row_of(runs, n) | ended for n in range(2))
    await added(bench, "acme", runs, [parent, child | {"parent_run_id": parent["id"]}])
    await added(bench, "acme", episodes, [row_of(episodes, 1) | {"run_id": child["id"]}])
    await move(bench)
    assert [each.kind for each in await archives(bench).list()] == ["memories"]
    assert [len(await rows_of(bench, tier.table)) for tier in (runs, episodes)] == [2, 1]


async def test_an_erased_agent_s_archive_is_erased_and_counted(bench: Bench) -> None:
    await fill(bench)
    await move(bench)
    await fill(bench, agent="other")
    await move(bench, agent="other")
    kept = await archives(bench).list(agent_id="other")
    accepted = await bench.gateway.erase("bot")
    await bench.quiet()
    receipt = (await bench.gateway.erasure(accepted.id)).receipt
    assert receipt is not None
    assert (receipt["erased"]["archives"], receipt["erased"]["blobs"], receipt["erased"]["memories"]) == (1, 1, 1)
    assert await archives(bench).list() == kept
    assert await keys(bench.backends.objects, "t") == [f"t/acme/{each.id}" for each in kept]


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_killed_at_any_object_nothing_is_lost_and_nothing_is_twice(bench: Bench, moment: str) -> None:
    await fill(bench)
    for operation in ("put", "get"):

        async def kill(name: str, key: str, operation: str = operation) -> None:
            del key
            if name == operation:
                raise Killed

        watched = bench.backends.objects
        setattr(watched, moment, kill)
        with pytest.raises(Killed):
            await move(bench)
        bench.backends = replace(bench.backends, objects=watched.inner)
        assert await everywhere(bench) == sorted(OLD + NEW)
        bench.backends = replace(bench.backends, objects=watched)
    bench.backends = replace(bench.backends, objects=bench.backends.objects.inner)
    assert await move(bench) == 3
    assert (await everywhere(bench), len(await archives(bench).list())) == (sorted(OLD + NEW), 1)


@pytest.mark.parametrize("done", [True, False])
async def test_killed_at_any_run_of_the_database_nothing_is_lost_and_nothing_is_twice(
    bench: Bench, *, done: bool
) -> None:
    await fill(bench)
    run, killed = type(bench.database).run, 0
    for number in range(1, 30):
        left = number

        async def dies(database: Any, given: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and not done:
                raise Killed
            answer = await run(database, given)
            if left == 0:
                raise Killed
            return answer

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(bench.database), "run", dies)
            try:
                await move(bench)
            except Killed:
                killed += 1
        assert await everywhere(bench) == sorted(OLD + NEW)
        if left > 0:
            break
        bench.indexer = indexer(bench)
    assert killed >= 3
    await move(bench)
    assert (await everywhere(bench), await recalled(bench)) == (sorted(OLD + NEW), NEW)


async def test_one_process_at_a_time_archives_what_is_old_of_every_agent(bench: Bench) -> None:
    for tenant, agent in (("acme", "bot"), ("globex", "other")):
        await fill(bench, tenant, agent)
        for tier in EPISODIC:
            await added(bench, tenant, tier, [row_of(tier, n, agent) for n in range(2)])  # of 2023
    await bench.database.run([LEASE.hold("another")])
    assert not await archive_all(bench.backends, 30)
    assert await archives(bench).list() == []
    await bench.database.run([LEASE.release("another")])
    for _ in range(2):
        assert await archive_all(bench.backends, 30)
        found = [*await archives(bench).list(), *await archives(bench, "globex").list()]
        assert [(each.agent_id, each.kind, each.items) for each in found] == [
            ("bot", "episodes", 2),
            ("other", "episodes", 2),
        ]
