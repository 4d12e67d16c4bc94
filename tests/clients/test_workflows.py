"""Workflows by the client: put, selected for a run, scored, listed and deleted."""

import pytest

from memory_gateway_client import Conflict, InvalidRequest, ListedWorkflow, NotFound, Outcome, Workflow
from tests.clients.asking import Asked
from tests.support.service import Service
from tests.support.workflows import begin_runs, run_id


async def test_a_workflow_is_put_selected_scored_listed_and_deleted(bot: Asked, service: Service) -> None:
    await begin_runs(service.runtime.backends.database, range(1))
    put = await bot.put_workflow("look-up", "support", "answer", {"steps": ["look up"]}, discount=0.9)
    assert isinstance(put, Workflow)
    assert (put.spec, put.discount, put.enabled, put.alpha) == ({"steps": ["look up"]}, 0.9, True, 1)
    chosen = await bot.select_workflow("support", "answer", seed=3, run_id=run_id(0))
    assert (chosen.workflow_id, chosen.spec) == ("look-up", put.spec)
    assert await bot.record_outcome("look-up", run_id(0), 0.5) == Outcome(1.5, 1.5, 0.5, counted=True)
    assert await bot.record_outcome("look-up", run_id(0), 1) == Outcome(1.5, 1.5, 0.5, counted=False)
    (listed,) = (await bot.workflows(agent_type="support", task_type="answer", limit=1)).workflows
    assert isinstance(listed, ListedWorkflow)
    got = await bot.get_workflow("look-up")
    assert (got.interval, got.created_at, got.mean) == (listed.interval, put.created_at, 0.5)
    await bot.delete_workflow("look-up")
    with pytest.raises(NotFound):
        await bot.get_workflow("look-up")


async def test_what_cannot_be_is_told_by_its_field(bot: Asked) -> None:
    await bot.put_workflow("w", "support", "answer", {})
    with pytest.raises(Conflict) as moved:
        await bot.put_workflow("w", "support", "other", {})
    with pytest.raises(InvalidRequest) as wrong:
        await bot.record_outcome("w", run_id(0), 2)
    assert [each.errors[0].field for each in (moved.value, wrong.value)] == ["task_type", "score"]
