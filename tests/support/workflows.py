"""Workflows and runs for tests."""

from typing import Any

from app.domain.workflows import NewWorkflow

RUN = "01K2Z5B8C3D6F9G1H4J7{:06d}"


def run_id(number: int) -> str:
    return RUN.format(number)


def runs_sql(
    numbers: range, *, tenant: str = "acme", agent: str = "bot", agent_type: str = "support", status: str = "running"
) -> str:
    """Return what starts these runs, behind the service's back."""
    ended = "NULL" if status == "running" else "2"
    return (
        f"WITH RECURSIVE number(n) AS (SELECT {numbers.start} UNION ALL SELECT n + 1 FROM number"
        f" WHERE n < {numbers.stop - 1}) INSERT INTO agent_runs"
        " (tenant_id, id, agent_id, agent_type, status, input, started_at, ended_at)"
        f" SELECT '{tenant}', '01K2Z5B8C3D6F9G1H4J7' || printf('%06d', n), '{agent}', '{agent_type}', '{status}',"
        f" '{{}}', 1, {ended} FROM number"
    )


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
