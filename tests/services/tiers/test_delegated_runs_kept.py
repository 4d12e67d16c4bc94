"""What is kept of delegated runs is counted, erased, moved and undone; and it does not matter who ends first."""

import asyncio
from pathlib import Path

import pytest
from ulid import ULID

from app.domain import limits
from app.domain.episodes import NewRun
from app.domain.errors import DatabaseUnavailable, QuotaExceeded, RunEnded
from app.domain.memory import NewMemory
from app.domain.undoing import Selected
from tests.services.tiers import test_delegated_runs as delegated
from tests.services.tiers.test_delegated_runs import CHILD, GRANDCHILD, OTHER, PARENT, begin, family, log, services
from tests.services.transfer.corpus import exported, imported
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.memories import contents
from tests.support.scopes import limit
from tests.support.tables import Like, column_of, rows_of

bench = delegated.bench


async def events(bench: Bench, run_id: str = PARENT) -> list[str]:
    return [entry["event"] for entry in await log(bench, run_id)]


async def bytes_of(bench: Bench, agent_id: str) -> int:
    rows = await rows_of(bench, "usage", "bytes", tenant_id="acme", agent_id=agent_id)
    return int(rows[0]["bytes"] or 0) if rows else 0


async def test_what_a_run_was_handed_counts_among_its_agents_bytes_and_is_refused_over_its_quota(bench: Bench) -> None:
    await begin(bench, PARENT)
    await begin(bench, CHILD, PARENT, "helper")
    before = await bytes_of(bench, "helper")
    await begin(bench, OTHER, PARENT, "helper", handed_over="x" * 5000)
    assert await bytes_of(bench, "helper") - before > 5000
    await limit(bench.backends, {"bytes": before + 9000}, "helper")
    with pytest.raises(QuotaExceeded):
        await begin(bench, GRANDCHILD, PARENT, "helper", handed_over="x" * 5000)
    assert await delegated.there(bench) == {PARENT, CHILD, OTHER}
    assert await events(bench) == ["started", "child_started", "child_started"]


@pytest.mark.parametrize("agent_id", [None, "bot"])
async def test_an_erasure_leaves_nothing_of_what_was_handed_over_and_nothing_counted(
    bench: Bench, agent_id: str | None
) -> None:
    elsewhere = services(bench, "globex").episodic
    await elsewhere.begin(NewRun("bot", "support", "of globex", PARENT))
    await family(bench)
    await delegated.said(bench, PARENT, CHILD, GRANDCHILD)
    await services(bench).episodic.complete(CHILD, "the canary")
    await bench.gateway.erase(agent_id)
    await bench.quiet()
    for table in ("agent_runs", "memory_episodes", "tool_call_log", "working_log", "working_key"):
        rows = await rows_of(bench, table, tenant_id="acme")
        assert rows == [], table
    for row in await rows_of(bench, "episodic_count", "runs", "episodes", tenant_id="acme"):
        assert {*row.values()} == {0}
    # Of other agents' instances the last versions stay until they expire, and nothing else.
    kept = await column_of(bench, "working_instance", "counted_bytes", tenant_id="acme")
    assert await bytes_of(bench, "") == sum(kept)
    assert (await bytes_of(bench, "") == 0) is (agent_id is None)
    assert (await elsewhere.run(PARENT)).input == "of globex"


async def test_the_logs_of_a_run_and_of_what_it_has_delegated_travel_too(
    bench: Bench, tmp_path: Path, backend: Backend
) -> None:
    await family(bench)
    await services(bench).episodic.complete(CHILD, {"refunded": True})
    data = await exported(bench)
    async with bench_on(tmp_path / "target", backend) as target:
        await imported(target, data)
        for run_id in (PARENT, CHILD, GRANDCHILD):
            assert await log(target, run_id) == await log(bench, run_id)
        assert await events(target) == ["started", "child_started", "child_ended"]
        await begin(target, CHILD, PARENT, "helper", handed_over={"order": 17})
        await services(target).episodic.complete(CHILD, {"refunded": True})
        assert await events(target) == ["started", "child_started", "child_ended"], "nothing is told twice"


async def test_the_end_of_a_run_whose_parent_is_missing_is_told_to_nobody(bench: Bench) -> None:
    await begin(bench, OTHER)
    await imported(bench, delegated.runs_of((CHILD, PARENT)))
    await services(bench).episodic.complete(CHILD, "the canary")
    assert await events(bench, OTHER) == ["started"]
    assert await rows_of(bench, "working_log", run_id=PARENT) == []
    assert await rows_of(bench, "working_log", entry=Like("%canary%")) == []
    # One that begins afterwards under the parent's id is not told of what has ended.
    await begin(bench, PARENT, None, "other")
    assert await events(bench) == ["started"]


async def test_an_import_brings_no_more_children_than_a_run_may_have_and_names_the_line(bench: Bench) -> None:
    ids = [str(ULID()) for _ in range(limits.MAX_RUN_CHILDREN + 2)]
    data = delegated.runs_of((PARENT, None), *((each, PARENT) for each in ids))
    for _ in range(2):  # those that are there are unchanged
        report = await imported(bench, data)
        lines = (limits.MAX_RUN_CHILDREN + 3, limits.MAX_RUN_CHILDREN + 4)
        reason = "its table does not take the row (children_full)"
        assert delegated.rejected(report) == [(line, reason) for line in lines]
        assert await delegated.there(bench) == {PARENT, *ids[:-2]}


async def test_the_undo_of_a_child_takes_its_memories_and_leaves_its_parents(bench: Bench) -> None:
    await family(bench)
    for run_id, agent_id in ((PARENT, "bot"), (CHILD, "helper"), (GRANDCHILD, "third")):
        await services(bench).of_run(run_id).gateway.store(agent_id, NewMemory(f"of {agent_id}"))
    before = await log(bench), await log(bench, GRANDCHILD)
    undo = services(bench).undo_taught
    assert (await undo.dry_run(Selected(run_id=CHILD))).memories == 1
    assert (await undo.run(Selected(run_id=CHILD))).memories == 1
    assert await contents(bench) == [*("of bot", "of third")]
    assert (await log(bench), await log(bench, GRANDCHILD)) == before
    assert (await services(bench).episodic.run(CHILD)).handed_over == {"order": 17}


@pytest.mark.parametrize("first", ["end", "start"])
async def test_a_parent_that_ends_while_a_child_begins_has_told_of_it_or_has_refused_it(
    bench: Bench, first: str
) -> None:
    orders = set()
    for _ in range(12):
        parent, child = str(ULID()), str(ULID())
        await begin(bench, parent)
        end = services(bench).episodic.complete(parent, 1)
        start = begin(bench, child, parent, "helper")
        tasks = [asyncio.create_task(each) for each in ((end, start) if first == "end" else (start, end))]
        refused = [each for each in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(each, Exception)]
        assert [type(each) for each in refused] in ([], [RunEnded])
        assert (child in await delegated.there(bench)) is (not refused)
        expected = ["started", "ended"] if refused else ["started", "child_started", "ended"]
        assert await events(bench, parent) == expected
        if not refused:
            await services(bench).episodic.complete(child, 2)
            assert await events(bench, parent) == [*expected, "child_ended"]
        orders.add(bool(refused))
    assert (first == "end") in orders


async def test_a_family_of_any_size_costs_each_request_as_many_runs_of_the_database_and_an_outage_is_told(
    bench: Bench,
) -> None:
    await begin(bench, PARENT)
    for _ in range(30):
        await begin(bench, str(ULID()), PARENT, "helper")
    await begin(bench, CHILD, PARENT, "helper")
    episodic, auditor, working = services(bench).episodic, services(bench).auditor, services(bench).working

    async def listed() -> None:
        assert len(await delegated.listed(bench, parent_run_id=PARENT)) >= 31

    requests = (
        lambda: begin(bench, str(ULID()), PARENT, "helper", handed_over=1),
        lambda: begin(bench, CHILD, PARENT, "helper"),
        lambda: episodic.run(CHILD),
        lambda: auditor.replay(PARENT, limit=100),
        lambda: episodic.complete(CHILD, 1),
        lambda: episodic.complete(CHILD, 1),
        lambda: episodic.complete(PARENT, 1),
        listed,
    )
    for number, request in enumerate(requests):
        bench.database.error = DatabaseUnavailable("It is away.")
        with pytest.raises(DatabaseUnavailable):
            await request()
        bench.database.error = None
        before = len(bench.database.runs)
        await request()
        assert len(bench.database.runs) - before == 1, number
    # A log is its agent's, who is looked up first.
    before = len(bench.database.runs)
    await working.log(PARENT, limit=100, after=0, only_agent=None)
    assert len(bench.database.runs) - before == 2
    bench.database.error = DatabaseUnavailable("It is away.")
    with pytest.raises(DatabaseUnavailable):
        await working.log(PARENT, limit=100, after=0, only_agent=None)
