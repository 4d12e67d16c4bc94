"""Workflows and runs for tests."""

from collections.abc import Iterable
from typing import Any

from app.domain.workflows import NewWorkflow
from tests.support.tables import Source, insert_rows

RUN = "01K2Z5B8C3D6F9G1H4J7{:06d}"


def run_id(number: int) -> str:
    return RUN.format(number)


async def begin_runs(
    source: Source,
    numbers: Iterable[int],
    *,
    tenant: str = "acme",
    agent: str = "bot",
    agent_type: str = "support",
    status: str = "running",
) -> None:
    """Have these runs be begun or ended, all at once and past the product."""
    row = {"tenant_id": tenant, "agent_id": agent, "agent_type": agent_type, "status": status, "input": "{}"}
    times = {"started_at": 1, "ended_at": None if status == "running" else 2}
    await insert_rows(source, "agent_runs", *(row | times | {"id": run_id(number)} for number in numbers))


def workflow(
    workflow_id: str,
    *,
    agent_type: str = "support",
    task_type: str = "answer",
    discount: float = 1.0,
    enabled: bool = True,
    spec: dict[str, Any] | None = None,
) -> NewWorkflow:
    return NewWorkflow(
        workflow_id=workflow_id,
        agent_type=agent_type,
        task_type=task_type,
        discount=discount,
        enabled=enabled,
        spec={"of": workflow_id} if spec is None else spec,
    )
