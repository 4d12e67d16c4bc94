"""A run that another one has delegated: bounded, kept apart from its parent, and gone with it."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ulid import ULID

from app.domain import limits
from app.domain.audit import ChildRun, sha256_of
from app.domain.audit import ToolCall as Call
from app.domain.episodes import NewEpisode, NewRun, RunsWanted
from app.domain.errors import Conflict, Erasing, InvalidRequest, MemoryGatewayError, NotFound, QuotaExceeded, RunEnded
from app.domain.preconditions import Precondition
from app.indexing.jobs.prune import Prune
from app.indexing.rate_limiter import RateLimiter
from app.runtime.tenant_services import TenantServices
from app.services.transfer.lines import Manifest, row_line, whole_file
from app.services.transfer.verify import verify
from app.storage.tiers.tables import TIER_TABLES
from tests.services.transfer.corpus import exported, imported
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.tables import ANY, column_of, count_of, rows_of, set_rows, shift_rows
from tests.support.tier_rows import row_of

PARENT, CHILD, GRANDCHILD, OTHER = (f"01K2Z4M1V7Q8T3B5N6C7D8E9F{mark}" for mark in "ABCD")
DAY_MS = 24 * 3600 * 1000
(RUNS,) = [tier for tier in TIER_TABLES if tier.kind == "runs"]


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


def services(bench: Bench, tenant: str = "acme") -> TenantServices:
    return TenantServices(bench.backends.of_tenant(tenant, ADMINISTRATOR))


async def begin(
    bench: Bench, run_id: str, parent: str | None = None, agent_id: str = "bot", *, only: str | None = None, **more: Any
) -> None:
    run = NewRun(agent_id, "support", more.pop("input", 1), run_id, parent_run_id=parent, **more)
    await services(bench).episodic.begin(run, only_agent=only)


async def family(bench: Bench) -> None:
    """Have a parent, its child of another agent, and the child of that."""
    await begin(bench, PARENT)
    await begin(bench, CHILD, PARENT, "helper", handed_over={"order": 17})
    await begin(bench, GRANDCHILD, CHILD, "third")


async def log(bench: Bench, run_id: str = PARENT) -> list[Any]:
    page = await services(bench).working.log(run_id, limit=100, after=0, only_agent=None)
    return [each.entry for each in page.entries]


async def listed(bench: Bench, **wanted: Any) -> list[str]:
    return [run.id for run in (await services(bench).episodic.runs(RunsWanted(**wanted), limit=100)).items]


async def there(bench: Bench) -> set[str]:
    return {str(row["id"]) for row in await rows_of(bench, "agent_runs", "id")}


async def refused(bench: Bench, kind: type[MemoryGatewayError], *of: str | None, **more: Any) -> list[str]:
    """Begin another run, which is refused, and return the fields that the refusal names."""
    before = await there(bench)
    with pytest.raises(kind) as error:
        await begin(bench, OTHER, *of, **more)  # type: ignore[arg-type]
    assert await there(bench) == before
    return [each.field for each in error.value.errors]


async def test_a_child_reads_what_it_was_handed_and_nothing_else_shows_it(bench: Bench) -> None:
    await family(bench)
    episodic = services(bench).episodic
    run = await episodic.run(CHILD, only_agent="helper")
    assert (run.parent_run_id, run.handed_over) == (PARENT, {"order": 17})
    with pytest.raises(NotFound):
        await episodic.run(PARENT, only_agent="helper")
    with pytest.raises(NotFound):
        await episodic.run(CHILD, only_agent="bot")
    page = await episodic.runs(RunsWanted(), limit=10)
    assert [each.handed_over for each in page.items] == [None] * 3
    assert "order" not in str(await log(bench)) + str(await services(bench).auditor.replay(PARENT, limit=100))


async def test_its_keys_and_its_state_end_with_it_and_its_log_stays(bench: Bench) -> None:
    await family(bench)
    working = services(bench).working
    for instance, agent in ((CHILD, "helper"), (PARENT, "bot")):
        await working.set(agent, instance, "plan", 1, ttl_seconds=3600, only=Precondition())
    await services(bench).episodic.complete(CHILD, {"refunded": True})
    assert (await working.list("helper", CHILD)).keys == []
    with pytest.raises(NotFound):
        await working.state(CHILD, only_agent=None)
    assert [entry["event"] for entry in await log(bench, CHILD)] == ["started", "child_started", "ended"]
    assert len((await working.list("bot", PARENT)).keys) == 1
    assert (await services(bench).episodic.run(CHILD)).status == "completed"
    await services(bench).episodic.complete(PARENT, 1)
    assert len((await working.list("bot", PARENT)).keys) == 1


async def test_its_result_is_a_row_of_its_parents_log(bench: Bench) -> None:
    await family(bench)
    await begin(bench, OTHER, PARENT, "third")
    episodic = services(bench).episodic
    for _ in range(2):
        run = await episodic.complete(CHILD, {"refunded": True})
        failed = await episodic.fail(OTHER, "no such order")
    assert run.ended_at is not None
    assert failed.ended_at is not None
    told = {"event": "child_ended", "agent_id": "helper", "run_id": CHILD, "status": "completed"}
    assert [entry for entry in await log(bench) if entry["event"] != "started"] == [
        {"event": "child_started", "run_id": CHILD, "agent_id": "helper", "agent_type": "support"},
        {"event": "child_started", "run_id": OTHER, "agent_id": "third", "agent_type": "support"},
        told | {"ms": run.ended_at - run.started_at, "output": {"refunded": True}},
        told
        | {"run_id": OTHER, "agent_id": "third", "status": "failed"}
        | {"ms": failed.ended_at - failed.started_at, "error": "no such order"},
    ]


async def test_of_a_large_result_the_log_has_the_size(bench: Bench) -> None:
    await family(bench)
    await services(bench).episodic.complete(CHILD, "x" * limits.RUN_RESULT_BYTES)
    (entry,) = [entry for entry in await log(bench) if entry["event"] == "child_ended"]
    assert (entry["output_bytes"], entry.get("output")) == (limits.RUN_RESULT_BYTES + 2, None)


async def test_a_run_that_is_completed_with_nothing_tells_null(bench: Bench) -> None:
    await family(bench)
    await services(bench).episodic.complete(CHILD, None)
    assert (await log(bench))[-1]["output"] is None


async def test_runs_are_listed_by_their_parent_and_by_their_status(bench: Bench) -> None:
    await family(bench)
    await begin(bench, OTHER, PARENT)
    assert await listed(bench, parent_run_id=PARENT) == [OTHER, CHILD]
    assert await listed(bench, parent_run_id=PARENT, agent_id="helper") == [CHILD]
    await services(bench).episodic.complete(OTHER, 1)
    assert await listed(bench, parent_run_id=PARENT, status="running") == [CHILD]
    assert await listed(bench, status="completed") == [OTHER]
    assert await listed(bench, parent_run_id=OTHER) == []


async def test_a_parent_has_to_be_there_to_run_and_to_be_the_callers(bench: Bench) -> None:
    assert await refused(bench, NotFound, PARENT) == ["parent_run_id"]
    await family(bench)
    assert await refused(bench, NotFound, CHILD, only="bot") == ["parent_run_id"]
    elsewhere = services(bench, "globex").episodic
    with pytest.raises(NotFound) as error:
        await elsewhere.begin(NewRun("bot", "support", 1, OTHER, parent_run_id=PARENT))
    assert [each.field for each in error.value.errors] == ["parent_run_id"]
    await services(bench).episodic.fail(CHILD, "no")
    assert await refused(bench, RunEnded, CHILD) == ["parent_run_id"]
    await begin(bench, OTHER, PARENT, only="bot")


async def test_a_run_is_not_its_own_ancestor(bench: Bench) -> None:
    assert await fields_of(lambda: NewRun("bot", "t", 1, PARENT, parent_run_id=PARENT)) == ["parent_run_id"]
    await family(bench)
    with pytest.raises(Conflict) as error:
        await begin(bench, PARENT, GRANDCHILD)
    assert [each.field for each in error.value.errors] == ["parent_run_id"]
    assert (await services(bench).episodic.run(PARENT)).parent_run_id is None


async def fields_of(make: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as error:
        make()
    return [each.field for each in error.value.errors]


async def test_what_is_handed_over_has_its_bounds_and_a_parent() -> None:
    assert await fields_of(lambda: NewRun("bot", "t", 1, handed_over=1)) == ["handed_over"]
    large = "x" * limits.HANDED_OVER_BYTES
    assert await fields_of(lambda: NewRun("bot", "t", 1, parent_run_id=PARENT, handed_over=large)) == ["handed_over"]


async def test_the_same_child_again_is_the_same_whatever_became_of_its_parent(bench: Bench) -> None:
    await family(bench)
    await services(bench).episodic.complete(PARENT, 1)
    await begin(bench, CHILD, PARENT, "helper", handed_over={"order": 17})
    with pytest.raises(Conflict):
        await begin(bench, CHILD, PARENT, "helper", handed_over={"order": 18})
    with pytest.raises(Conflict):
        await begin(bench, CHILD, None, "helper")
    assert [entry["event"] for entry in await log(bench)] == ["started", "child_started", "ended"]


async def test_a_run_delegates_so_many_and_not_one_more_however_many_begin_at_once(bench: Bench) -> None:
    await begin(bench, PARENT)
    most = limits.MAX_RUN_CHILDREN
    wanted = [begin(bench, str(ULID()), PARENT) for _ in range(most + 20)]
    found = await asyncio.gather(*wanted, return_exceptions=True)
    over = [each for each in found if each is not None]
    assert [type(each) for each in over] == [QuotaExceeded] * 20
    assert await rows_of(bench, "agent_runs", "count(*) AS n", parent_run_id=ANY) == [{"n": most}]
    assert await refused(bench, QuotaExceeded, PARENT) == []


async def test_so_many_runs_are_above_one_and_not_one_more(bench: Bench) -> None:
    ids = [str(ULID()) for _ in range(limits.MAX_RUN_DEPTH + 1)]
    await begin(bench, ids[0])
    for above, below in pairwise(ids):
        await begin(bench, below, above)
    assert await refused(bench, QuotaExceeded, ids[-1]) == []


async def test_ancestors_that_go_in_a_circle_end(bench: Bench) -> None:
    await family(bench)
    await set_rows(bench, "agent_runs", {"parent_run_id": GRANDCHILD}, id=PARENT)
    assert await refused(bench, QuotaExceeded, PARENT) == []


async def test_a_replay_shows_how_children_began_and_ended_until_the_end(bench: Bench) -> None:
    await family(bench)
    await begin(bench, OTHER, PARENT)
    episodic, auditor = services(bench).episodic, services(bench).auditor
    await episodic.complete(CHILD, 1)
    await set_rows(bench, "agent_runs", {"started_at": 1000})
    await set_rows(bench, "agent_runs", {"ended_at": 2000}, ended_at=ANY)
    await episodic.complete(PARENT, 1)
    before = await auditor.replay(PARENT, limit=100)
    assert [(step.kind, getattr(step.what, "id", None)) for step in before.steps] == [
        *(("started", PARENT), ("child_started", CHILD), ("child_started", OTHER)),
        *(("child_ended", CHILD), ("ended", PARENT)),
    ]
    assert before.steps[3].what == ChildRun(CHILD, "helper", "support", "completed")
    await set_rows(bench, "agent_runs", {"ended_at": 3000}, id=PARENT)
    before = await auditor.replay(PARENT, limit=100)
    await episodic.complete(OTHER, 1)
    assert await auditor.replay(PARENT, limit=100) == before
    mine = await auditor.replay(PARENT, limit=100, only_agent="bot")
    assert [step.kind for step in mine.steps] == ["started", "child_started", "ended"]


async def said(bench: Bench, *run_ids: str) -> None:
    for run_id in run_ids:
        await services(bench).episodic.append(run_id, [NewEpisode("note", "text")])
        call = Call(str(ULID()), "tool", None, sha256_of("x"), "ok", "1")
        await services(bench).auditor.record(run_id, [call])


RUNS_IN = {
    "agent_runs": "id",
    "memory_episodes": "run_id",
    "tool_call_log": "run_id",
    "working_log": "run_id",
    "working_key": "instance",
}
"""Where a run leaves something, and the column that names it."""


async def test_the_erasure_of_its_agent_takes_what_a_run_has_delegated(bench: Bench) -> None:
    await family(bench)
    await begin(bench, OTHER, None, "helper")
    await said(bench, PARENT, CHILD, GRANDCHILD, OTHER)
    await bench.gateway.erase("bot")
    with pytest.raises(Erasing):
        await begin(bench, str(ULID()), PARENT, "helper")
    await bench.quiet()
    for table, column in RUNS_IN.items():
        assert {*await column_of(bench, table, column)} == {OTHER}, table
    assert await count_of(bench, "erasure", receipt=ANY) == 1


async def test_the_erasure_of_a_childs_agent_leaves_its_parent(bench: Bench) -> None:
    await family(bench)
    await said(bench, PARENT, CHILD, GRANDCHILD)
    await bench.gateway.erase("helper")
    await bench.quiet()
    assert await there(bench) == {PARENT}


async def test_what_was_delegated_is_pruned_with_its_parent_and_not_before_it(bench: Bench) -> None:
    await family(bench)
    await said(bench, CHILD)
    for run_id in (GRANDCHILD, CHILD):
        await services(bench).episodic.complete(run_id, 1)
    days = 200 * DAY_MS
    old = {"started_at": -days, "ended_at": -days}
    for run_id in (CHILD, GRANDCHILD):
        await shift_rows(bench, "agent_runs", old, id=run_id)
    await shift_rows(bench, "memory_episodes", {"created_at": -days})
    await prune(bench)
    assert await there(bench) == {PARENT, CHILD, GRANDCHILD}
    await begin(bench, OTHER, PARENT)
    await said(bench, OTHER)
    await services(bench).episodic.complete(PARENT, 1)
    await shift_rows(bench, "agent_runs", old, id=PARENT)
    await prune(bench)
    assert await there(bench) == set()
    assert await rows_of(bench, "memory_episodes") == []


async def prune(bench: Bench) -> None:
    await Prune(
        bench.database, audit_days=400, episode_days=90, rate_limiter=RateLimiter(1e9), report=lambda _: None
    ).run()


async def test_delegated_runs_travel_with_what_they_were_handed(bench: Bench, tmp_path: Path, backend: Backend) -> None:
    await family(bench)
    data = await exported(bench)
    assert verify([data]).flaws == 0
    async with bench_on(tmp_path / "target", backend) as target:
        await imported(target, data)
        assert (await exported(target)).splitlines()[1:] == data.splitlines()[1:]
        run = await services(target).episodic.run(CHILD)
        assert (run.parent_run_id, run.handed_over) == (PARENT, {"order": 17})


def runs_of(*parents: tuple[str, str | None], agent_id: str = "bot") -> bytes:
    """Write a file of runs, each with its parent."""
    rows = [row_of(RUNS, 0, agent_id) | {"id": run_id, "parent_run_id": parent} for run_id, parent in parents]
    return whole_file(Manifest("acme", None, 0, (), vectors=False), [row_line(RUNS, row) for row in rows])


def rejected(report: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(each["line"], each["detail"]) for each in report if each.get("status") == "rejected"]


@pytest.mark.parametrize("above", [1, 2, 3, 9, 12])
async def test_an_import_closes_no_circle_of_runs_however_long(bench: Bench, above: int) -> None:
    ids = [str(ULID()) for _ in range(above)]
    report = await imported(bench, runs_of(*zip(ids, [*ids[1:], ids[0]], strict=True)))
    reason = "own_ancestor" if above <= 9 else "too_deep"
    assert rejected(report) == [(above + 1, f"its table does not take the row ({reason})")]
    assert await there(bench) == {*ids[:-1]}
    await shift_rows(bench, "agent_runs", {"started_at": -(200 * DAY_MS)})
    await prune(bench)
    assert await there(bench) == set()


async def test_an_import_takes_a_run_without_its_parent_which_may_be_another_agents(bench: Bench) -> None:
    data = runs_of((CHILD, PARENT))
    assert rejected(await imported(bench, data, only_agent="bot")) == []
    assert (await services(bench).episodic.run(CHILD)).parent_run_id == PARENT
    await services(bench).episodic.complete(CHILD, 1)
    assert await there(bench) == {CHILD}


async def test_who_imports_for_one_agent_puts_no_run_below_another_agents(bench: Bench) -> None:
    await begin(bench, PARENT, None, "helper")
    await begin(bench, GRANDCHILD)
    data = runs_of((CHILD, PARENT), (OTHER, GRANDCHILD))
    report = await imported(bench, data, only_agent="bot")
    assert rejected(report) == [(2, "parent_run_id is a run of another agent than may be imported into")]
    assert await there(bench) == {PARENT, GRANDCHILD, OTHER}
    assert [entry["event"] for entry in await log(bench)] == ["started"]
    assert rejected(await imported(bench, data)) == []
