"""What is old is moved into the object store: whole, once, findable, and back."""

import asyncio
import json
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.domain import limits
from app.domain.episodes import NewRun
from app.domain.errors import NotFound, ObjectGone, UpstreamUnavailable
from app.domain.json_types import Scalar
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.runtime.archive import archive_all
from app.services.archive.moving import ArchiveMover
from app.services.archive.reading import Archives
from app.services.tiers.episodic import EpisodicMemory
from app.services.transfer.report import ImportReport
from app.services.transfer.verify import verify
from app.storage.system.archive import LEASE
from app.storage.tiers.tables import TIER_TABLES
from tests.support.dying import Killed
from tests.support.gateways import ADMINISTRATOR, Bench, indexer_of
from tests.support.memories import (
    claim,
    contents,
    holding,
    memory_column,
    memory_ids,
    set_memories,
    superseded,
)
from tests.support.objects import at, keys
from tests.support.tables import column_of, insert_rows, rows_of
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
    await in_turn(bench, "Oslo", "Rome")  # Rome was stored last, and said first
    await chained(bench, "fact", "Rome", "Oslo")
    await ingested(bench, "Rome")
    assert await move(bench) == 0
    assert (await superseded(bench), await holding(bench)) == (["Rome"], ["Oslo", "new"])


async def in_turn(bench: Bench, *said: str) -> None:
    """Store what is said in this order, and then the memory that stays."""
    for content in (*said, "new"):
        await asyncio.sleep(0.002)  # each is of a later millisecond
        await bench.gateway.store("bot", NewMemory(content))
    await bench.delivered()


async def chained(bench: Bench, by: str, *said: str) -> None:
    """Have each memory replace the one before it: as values of one key, or as a reader's relation of each two says."""
    if by == "fact":
        for number, content in enumerate(said, 1):
            (id_,) = await memory_ids(bench, content=content)
            await claim(bench, "user/lives_in", content, id_, happened_at=number)
    else:
        for older, newer in pairwise(said):
            await replaced(bench, older, newer)


async def deleted(bench: Bench, content: str) -> None:
    (id_,) = await memory_ids(bench, content=content)
    await bench.gateway.delete("bot", id_)


async def ingested(bench: Bench, *said: str) -> None:
    """Have what is said be messages, which are not archived."""
    for number, content in enumerate(said):
        await set_memories(bench, {"message_id": f"{number:032x}"}, content=content)


async def replaced(bench: Bench, older: str, newer: str) -> None:
    """Have a reader's relation say that one memory replaces another."""
    (older_id,), (newer_id,) = [await memory_ids(bench, content=content) for content in (older, newer)]
    found = {"name": "replaces", "probability": 0.99, "effect": "hides", "version": "1", "compared_at": 1}
    scope = {"tenant_id": "acme", "agent_id": "bot"}
    await insert_rows(bench, "relation", scope | found | {"older_id": older_id, "newer_id": newer_id})


BY = pytest.mark.parametrize("by", ["fact", "relation"])


@BY
async def test_what_replaces_a_message_stays_as_long_as_the_message_does(bench: Bench, by: str) -> None:
    await in_turn(bench, "Rome", "Oslo")
    await chained(bench, by, "Rome", "Oslo")
    await ingested(bench, "Rome")
    assert await superseded(bench) == ["Rome"]
    assert await move(bench) == 0
    assert (await superseded(bench), await holding(bench)) == (["Rome"], ["Oslo", "new"])
    await deleted(bench, "Rome")
    assert await move(bench) == 1
    assert await contents(bench) == NEW


@BY
async def test_what_replaces_a_restored_memory_stays_as_long_as_that_one_does(bench: Bench, by: str) -> None:
    await in_turn(bench, "Rome")
    assert await move(bench) == 1
    (object_,) = await archives(bench).list()
    await restore(bench, object_.id, days=5)
    await deleted(bench, "new")
    await in_turn(bench, "Oslo")
    await chained(bench, by, "Rome", "Oslo")
    assert await move(bench) == 0
    assert await superseded(bench) == ["Rome"]
    bench.later(5 * 86_400)
    assert await move(bench) == 2
    assert await contents(bench) == NEW


@BY
async def test_a_chain_goes_whole_and_none_of_it_holds_again_meanwhile(bench: Bench, by: str) -> None:
    chain = ("Rome", "Oslo", "Paris", "Bern")
    await in_turn(bench, *chain)
    await chained(bench, by, *chain)
    held = set()

    async def look(operation: str, key: str) -> None:
        del operation, key
        held.update(await holding(bench))

    bench.backends.objects.before = look
    assert await move(bench) == 4
    assert (held, await contents(bench)) == ({"Bern", "new"}, NEW)


async def test_of_what_follows_a_message_only_the_last_stays(bench: Bench) -> None:
    await in_turn(bench, "Rome", "Oslo", "Paris")
    await chained(bench, "fact", "Rome", "Oslo", "Paris")
    await ingested(bench, "Rome")
    assert await move(bench) == 1
    assert (await superseded(bench), await holding(bench)) == (["Rome"], ["Paris", "new"])


async def test_what_a_message_says_too_does_not_wait(bench: Bench) -> None:
    await in_turn(bench, "Rome", "Oslo", "Oslo still")
    for number, (content, value) in enumerate([("Rome", "rome"), ("Oslo", "oslo"), ("Oslo still", "oslo")], 1):
        (id_,) = await memory_ids(bench, content=content)
        await claim(bench, "user/lives_in", value, id_, happened_at=number)
    await ingested(bench, "Rome", "Oslo")
    assert await move(bench) == 1
    assert (await superseded(bench), await holding(bench)) == (["Rome"], ["Oslo", "new"])


async def test_what_lies_between_a_message_and_the_same_said_again_stays(bench: Bench) -> None:
    await in_turn(bench, "Rome", "Oslo", "Rome again")
    for number, (content, value) in enumerate([("Rome", "rome"), ("Oslo", "oslo"), ("Rome again", "rome")], 1):
        (id_,) = await memory_ids(bench, content=content)
        await claim(bench, "user/lives_in", value, id_, happened_at=number)
    await ingested(bench, "Rome")
    assert await move(bench) == 0
    await deleted(bench, "Rome")
    assert await move(bench) == 2
    assert await contents(bench) == NEW


async def test_what_comes_to_replace_a_message_while_its_object_is_written_stays(bench: Bench) -> None:
    await in_turn(bench, "Rome", "Oslo")
    await ingested(bench, "Rome")

    async def compared(operation: str, key: str) -> None:
        if operation == "put" and key.startswith("t/"):
            await replaced(bench, "Rome", "Oslo")

    bench.backends.objects.before = compared
    assert await move(bench) == 0
    assert (await superseded(bench), await archives(bench).list()) == (["Rome"], [])


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


async def large_runs(bench: Bench, count: int) -> list[str]:
    """Have ended runs with an output that is too large for a row; return their ids, oldest first."""
    runs, ids = EpisodicMemory(bench.backends.of_tenant("acme", ADMINISTRATOR)), list[str]()
    for number in range(count):
        ids.append(f"01K{number:023d}")
        await runs.begin(NewRun("bot", "type", number, ids[-1], 0))
        await runs.complete(ids[-1], str(number) * limits.LARGE_VALUE_BYTES)
    await in_turn(bench)
    return ids


@pytest.mark.parametrize("how", ["missing", "changed"])
async def test_a_run_whose_value_cannot_be_read_stays_until_it_can_and_the_others_go(bench: Bench, how: str) -> None:
    ids, objects = await large_runs(bench, 12), bench.backends.objects
    unreadable = {str(row["output_blob"]) for row in (await rows_of(bench, "agent_runs", by="id"))[:-1]}
    values = {key: await objects.get(key, most=2**20) for key in await keys(objects) if key[7:] in unreadable}
    assert len(values) == 11
    for key in values:
        await (objects.delete(key) if how == "missing" else objects.put(key, b"other", "application/json"))
    for moved in (1, 0):
        with capture_logs() as logs:
            assert await move(bench) == moved
        assert [log["item"] for log in logs if log["event"] == "archive_leaves"] == ids[:-1]
    assert await column_of(bench, "agent_runs", "id", by="id") == ids[:-1]
    for key, value in values.items():
        await objects.put(key, value, "application/json")
    assert await move(bench) == 11
    for each in await archives(bench).list(kind="runs"):
        assert b'"output_blob"' not in (data := await archives(bench).read(each))
        assert verify([data]).flaws == 0
    for number, id_ in enumerate(ids):
        assert (
            json.loads((await archives(bench).item(id_))[1]["row"]["output"]) == str(number) * limits.LARGE_VALUE_BYTES
        )


async def test_while_the_objects_are_away_no_run_is_archived(bench: Bench) -> None:
    ids = await large_runs(bench, 2)
    bench.backends.objects.before = at("get", UpstreamUnavailable("The object store does not answer."))
    with pytest.raises(UpstreamUnavailable):
        await move(bench)
    assert (await column_of(bench, "agent_runs", "id", by="id"), await archives(bench).list()) == (ids, [])


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
        bench.indexer = indexer_of(bench.database, bench.backends)
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
