"""Workflows are put, selected and scored, and every outcome counts once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain import limits
from app.domain.errors import (
    Conflict,
    Erasing,
    InvalidRequest,
    MemoryGatewayError,
    NotFound,
    QuotaExceeded,
    UpstreamTimeout,
)
from app.domain.memory import NewMemory
from app.indexing.jobs.prune import Prune
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Row, Statement
from app.services.tiers.procedural import ProceduralMemory
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.tables import ANY, column_of, rows_of, set_rows, shift_rows
from tests.support.workflows import begin_runs, run_id, workflow

DAY_MS = 24 * 3600 * 1000


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        await begin_runs(made, range(200))
        yield made


def of(bench: Bench, tenant: str = "acme") -> ProceduralMemory:
    return ProceduralMemory(bench.backends.of_tenant(tenant, ADMINISTRATOR))


@pytest.fixture
def memory(bench: Bench) -> ProceduralMemory:
    return of(bench)


def named(error: MemoryGatewayError) -> list[str]:
    return [each.field for each in error.errors]


async def test_a_workflow_is_kept_as_it_was_put_and_knows_nothing_at_first(memory: ProceduralMemory) -> None:
    spec = {"steps": [1, 2.5, None, {"ä": True}], "": "text"}
    put = await memory.put(workflow("w", spec=spec, discount=0.5))
    assert (put.spec, put.discount, put.enabled, put.alpha, put.beta, put.mean) == (spec, 0.5, True, 1, 1, 0.5)
    assert put.interval == pytest.approx((0.025, 0.975))
    assert await memory.get("w") == put


async def test_a_workflow_that_is_put_again_keeps_its_counts(memory: ProceduralMemory) -> None:
    first = await memory.put(workflow("w"))
    await memory.outcome("w", run_id(0), 0.75)
    again = await memory.put(workflow("w", spec={"new": 1}, enabled=False, discount=0.9))
    assert (again.alpha, again.beta, again.spec) == (1.75, 1.25, {"new": 1})
    assert (again.enabled, again.discount, again.created_at) == (False, 0.9, first.created_at)


@pytest.mark.parametrize("field", ["agent_type", "task_type"])
async def test_what_a_workflow_is_for_cannot_change(memory: ProceduralMemory, field: str) -> None:
    put = await memory.put(workflow("w"))
    with pytest.raises(Conflict) as caught:
        await memory.put(workflow("w", spec={"new": 1}, **{field: "other"}))  # type: ignore[arg-type]
    assert named(caught.value) == [field]
    assert await memory.get("w") == put


async def test_a_deleted_workflow_is_gone_and_deleting_it_again_is_no_error(memory: ProceduralMemory) -> None:
    await memory.put(workflow("w"))
    await memory.outcome("w", run_id(0), 1)
    for _ in range(2):
        await memory.delete("w")
    for asked in (memory.get("w"), memory.outcome("w", run_id(1), 1), memory.select("support", "answer")):
        with pytest.raises(NotFound):
            await asked
    await memory.put(workflow("w"))
    assert (await memory.get("w")).alpha == 1
    assert not (await memory.outcome("w", run_id(0), 1)).counted


async def test_a_task_and_a_tenant_have_as_many_workflows_as_they_may(
    memory: ProceduralMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WORKFLOWS", 3)
    monkeypatch.setattr(limits, "MAX_WORKFLOWS_OF_TASK", 2)
    for name in ("a", "b"):
        await memory.put(workflow(name))
    with pytest.raises(QuotaExceeded) as caught:
        await memory.put(workflow("c"))
    assert caught.value.reached == "workflows;scope=tenant;used=2;limit=2"
    await memory.put(workflow("c", task_type="other"))
    with pytest.raises(QuotaExceeded) as caught:
        await memory.put(workflow("d", task_type="third"))
    assert caught.value.reached == "workflows;scope=tenant;used=3;limit=3"
    await memory.put(workflow("a", spec={"changed": True}))
    await memory.delete("b")
    await memory.put(workflow("d"))
    assert [each.workflow_id for each in (await memory.page(limit=10)).items] == ["a", "c", "d"]


async def test_workflows_are_listed_in_order_of_id_page_by_page_and_by_type(memory: ProceduralMemory) -> None:
    for name in ("c", "A", "b", "a"):
        await memory.put(workflow(name, task_type="answer" if name != "b" else "other"))
    seen, after = [], None
    while True:
        page = await memory.page(limit=3, after=after)
        seen += [each.workflow_id for each in page.items]
        if (after := page.after) is None:
            break
    assert seen == ["A", "a", "b", "c"]
    assert [each.workflow_id for each in (await memory.page("support", "other", limit=9)).items] == ["b"]
    assert (await memory.page("sales", limit=9)).items == []


async def test_the_same_seed_and_counts_choose_the_same_and_as_numpy_draws(memory: ProceduralMemory) -> None:
    for number, name in enumerate(("b", "a", "c")):
        await memory.put(workflow(name))
        for run in range(number):
            await memory.outcome(name, run_id(run), 1)
    await memory.put(workflow("0-off", enabled=False))
    for seed in range(20):
        generator = np.random.default_rng(seed)
        drawn = {name: generator.beta(alpha, 1) for name, alpha in (("a", 2), ("b", 1), ("c", 3))}
        best = max(drawn, key=drawn.__getitem__)
        chosen = await memory.select("support", "answer", seed=seed)
        assert (chosen.workflow_id, chosen.sampled, chosen.spec) == (best, drawn[best], {"of": best})
        assert chosen == await memory.select("support", "answer", seed=seed)
    assert len({(await memory.select("support", "answer")).sampled for _ in range(5)}) == 5


async def test_where_no_workflow_is_enabled_none_is_selected(memory: ProceduralMemory) -> None:
    await memory.put(workflow("off", enabled=False))
    await memory.put(workflow("other", task_type="other"))
    with pytest.raises(NotFound):
        await memory.select("support", "answer")


async def test_a_choice_is_noted_in_the_run_that_it_is_for(bench: Bench, memory: ProceduralMemory) -> None:
    await memory.put(workflow("w"))
    await memory.select("support", "answer", run_id=run_id(3))
    await memory.select("support", "answer", run_id=run_id(4), agent_id="bot")
    rows = await rows_of(bench, "agent_runs", "id", by="id", workflow_id="w")
    assert [row["id"] for row in rows] == [run_id(3), run_id(4)]


async def test_a_run_that_is_unknown_another_s_or_over_takes_no_choice(bench: Bench, memory: ProceduralMemory) -> None:
    await memory.put(workflow("w"))
    await begin_runs(bench, range(300, 301), status="completed")
    await begin_runs(bench, range(301, 302), tenant="globex")
    await begin_runs(bench, range(302, 303), agent="other")
    for asked in (
        {"run_id": run_id(999)},
        {"run_id": run_id(300)},
        {"run_id": run_id(301)},
        {"run_id": run_id(302), "agent_id": "bot"},
    ):
        with pytest.raises(NotFound) as caught:
            await memory.select("support", "answer", **asked)  # type: ignore[arg-type]
        assert named(caught.value) == ["run_id"]
    assert await rows_of(bench, "agent_runs", "id", workflow_id=ANY) == []


async def test_a_run_of_another_agent_type_is_refused_by_name(bench: Bench, memory: ProceduralMemory) -> None:
    await memory.put(workflow("w"))
    await begin_runs(bench, range(300, 301), agent_type="sales")
    with pytest.raises(InvalidRequest) as caught:
        await memory.select("support", "answer", run_id=run_id(300))
    assert named(caught.value) == ["agent_type"]
    with pytest.raises(InvalidRequest) as caught:
        await memory.outcome("w", run_id(300), 1)
    assert named(caught.value) == ["run_id"]
    assert (await memory.get("w")).alpha == 1


async def test_an_outcome_counts_its_score_and_the_same_run_counts_once(memory: ProceduralMemory) -> None:
    for name in ("w", "v"):
        await memory.put(workflow(name))
    first = await memory.outcome("w", run_id(0), 0.25)
    assert (first.alpha, first.beta, first.mean, first.counted) == (1.25, 1.75, 1.25 / 3, True)
    again = await memory.outcome("w", run_id(0), 1)
    assert again == replace(first, counted=False)
    assert (await memory.outcome("v", run_id(0), 1)).counted
    assert (await memory.outcome("w", run_id(1), 1)).alpha == 2.25


async def test_the_outcome_of_a_run_that_is_over_counts(bench: Bench, memory: ProceduralMemory) -> None:
    await memory.put(workflow("w"))
    await begin_runs(bench, range(300, 301), status="failed")
    assert (await memory.outcome("w", run_id(300), 0)).beta == 2


async def test_an_outcome_of_an_unknown_run_of_another_tenant_s_or_another_agent_s_is_not_counted(
    bench: Bench, memory: ProceduralMemory
) -> None:
    await memory.put(workflow("w"))
    await of(bench, "globex").put(workflow("theirs"))
    await begin_runs(bench, range(300, 301), tenant="globex")
    for name, run, agent in (
        ("w", 999, None),
        ("w", 300, None),
        ("w", 1, "other"),
        ("theirs", 1, None),
        ("unknown", 1, None),
    ):
        with pytest.raises(NotFound):
            await memory.outcome(name, run_id(run), 1, agent_id=agent)
    assert await rows_of(bench, "workflow_outcome") == []
    assert {*await column_of(bench, "workflow", "alpha + beta")} == {2}


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf"), -0.001, 1.001])
async def test_what_is_no_score_is_refused_by_name(memory: ProceduralMemory, score: float) -> None:
    await memory.put(workflow("w"))
    with pytest.raises(InvalidRequest) as caught:
        await memory.outcome("w", run_id(0), score)
    assert named(caught.value) == ["score"]
    assert (await memory.get("w")).beta == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spec", {"x": "y" * 100_000}),
        ("spec", {"x": float("nan")}),
        ("spec", {"x": "a\0"}),
        ("discount", 0.0),
        ("discount", 1.5),
        ("workflow_id", "a b"),
        ("agent_type", ""),
        ("task_type", "x" * 65),
    ],
)
async def test_a_workflow_over_its_limits_is_refused_by_name(memory: ProceduralMemory, field: str, value: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await memory.put(replace(workflow("w"), **{field: value}))
    assert named(caught.value) == [field]


async def test_a_spec_of_as_many_bytes_as_it_may_have_is_kept(memory: ProceduralMemory) -> None:
    spec = {"x": "ö" * ((limits.WORKFLOW_SPEC_BYTES - len('{"x":""}')) // 2)}
    assert (await memory.put(workflow("w", spec=spec))).spec == spec


async def test_with_a_discount_each_outcome_first_fades_all_workflows_of_the_task(
    bench: Bench, memory: ProceduralMemory
) -> None:
    for name, discount in (("a", 0.5), ("b", 0.8), ("c", 1.0)):
        await memory.put(workflow(name, discount=discount))
    await memory.put(workflow("other", task_type="other", discount=0.5))
    await set_rows(bench, "workflow", {"alpha": 5, "beta": 3})
    after = await memory.outcome("a", run_id(0), 1)
    assert (after.alpha, after.beta) == (4, 2)
    counts = {each.workflow_id: (each.alpha, each.beta) for each in (await memory.page(limit=9)).items}
    assert counts == {"a": (4, 2), "b": (4.2, 2.6), "c": (5, 3), "other": (5, 3)}
    await memory.outcome("a", run_id(0), 1)
    assert counts == {each.workflow_id: (each.alpha, each.beta) for each in (await memory.page(limit=9)).items}


async def test_a_hundred_outcomes_at_once_lose_none(memory: ProceduralMemory) -> None:
    await memory.put(workflow("w"))
    outcomes = await asyncio.gather(*(memory.outcome("w", run_id(run % 100), 0.25) for run in range(150)))
    assert sum(outcome.counted for outcome in outcomes) == 100
    after = await memory.get("w")
    assert (after.alpha, after.beta) == (26, 76)


class _LosingAnswers:
    """Runs everything, and loses the answers of writes."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        rows: list[list[Row]] = await self.inner.run(statements)
        if any(statement.writes for statement in statements):
            raise UpstreamTimeout("The answer got lost.")
        return rows


async def test_an_outcome_whose_answer_was_lost_counts_once_when_it_is_posted_again(
    bench: Bench, memory: ProceduralMemory
) -> None:
    await memory.put(workflow("w", discount=0.5))
    losing = replace(bench.backends, database=_LosingAnswers(bench.backends.database)).of_tenant("acme", ADMINISTRATOR)
    for _ in range(3):
        with pytest.raises(UpstreamTimeout):
            await ProceduralMemory(losing).outcome("w", run_id(0), 1)
    assert await memory.outcome("w", run_id(0), 1) == replace(await memory.outcome("w", run_id(0), 0), alpha=2)


async def test_nothing_is_written_while_the_tenant_is_erased(bench: Bench, memory: ProceduralMemory) -> None:
    await memory.put(workflow("w"))
    await bench.gateway.store("bot", NewMemory("what takes the indexer to erase"))
    await bench.gateway.erase(None)
    for asked in (memory.put(workflow("v")), memory.outcome("w", run_id(0), 1), memory.delete("w")):
        with pytest.raises(Erasing):
            await asked


async def test_prune_deletes_outcomes_of_the_audit_s_age_and_workflows_keep_their_counts(
    bench: Bench, memory: ProceduralMemory
) -> None:
    await memory.put(workflow("w"))
    for run in range(3):
        await memory.outcome("w", run_id(run), 1)
    for run in range(2):
        await shift_rows(bench, "workflow_outcome", {"created_at": -400 * DAY_MS}, run_id=run_id(run))
    of_runs = 40_000  # days: these began with the epoch, and are to stay
    job = Prune(
        bench.database, audit_days=400, episode_days=of_runs, rate_limiter=RateLimiter(1e9), report=lambda _: None
    )
    assert (await job.run()).workflow_outcomes == 2
    assert (await memory.get("w")).alpha == 4
    assert not (await memory.outcome("w", run_id(2), 1)).counted
    assert (await memory.outcome("w", run_id(1), 1)).counted
