"""Operations: workflows.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping
from types import NoneType
from typing import Any

from memory_gateway_client.request import (
    Call,
    asked,
    given,
    segment,
)
from memory_gateway_client.types import (
    Outcome,
    SelectedWorkflow,
    Workflow,
    WorkflowPage,
    WorkflowVersion,
    WorkflowVersions,
)


def put_workflow(
    _own: str | None,
    /,
    workflow_id: str,
    agent_type: str,
    task_type: str,
    spec: Mapping[str, Any],
    *,
    discount: float | None = None,
    enabled: bool = True,
) -> Call[Workflow]:
    """Make a workflow, or change it, as an administrator of all agents: its counts and its types stay.

    A spec that is replaced stays as a version, the last 10 of them.

    Args:
        workflow_id: The workflow: any id but ``select``.
        agent_type: The agents that it is for.
        task_type: The task that it competes for.
        spec: What is done, in the caller's own form. At most 100000 bytes as JSON, nested at most 16 deep.
        discount: What is left of its counts at each outcome of its task: 1 forgets nothing. Left out: ``1.0``.
        enabled: Whether it is selected.

    Raises:
        Conflict: ``conflict``, ``erasing``.
    """
    return Call(
        "PUT",
        f"/workflows/{segment(workflow_id)}",
        Workflow,
        body=given(agent_type=agent_type, task_type=task_type, spec=spec, discount=discount, enabled=enabled),
    )


def get_workflow(
    _own: str | None,
    /,
    workflow_id: str,
) -> Call[Workflow]:
    """Return a workflow with what is known of its rate of success.

    Args:
        workflow_id: The workflow: any id but ``select``.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/workflows/{segment(workflow_id)}",
        Workflow,
    )


def delete_workflow(
    _own: str | None,
    /,
    workflow_id: str,
) -> Call[None]:
    """Delete a workflow, as an administrator of all agents. One that is not there is no error.

    Args:
        workflow_id: The workflow: any id but ``select``.

    Raises:
        Conflict: ``erasing``.
    """
    return Call(
        "DELETE",
        f"/workflows/{segment(workflow_id)}",
        NoneType,
        status=204,
    )


def workflow_versions(
    _own: str | None,
    /,
    workflow_id: str,
) -> Call[WorkflowVersions]:
    """List the specs of a workflow, newest first: that which it has, and those that were replaced; who wrote each.

    Args:
        workflow_id: The workflow: any id but ``select``.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/workflows/{segment(workflow_id)}/versions",
        WorkflowVersions,
    )


def workflow_version(
    _own: str | None,
    /,
    workflow_id: str,
    version: int,
) -> Call[WorkflowVersion]:
    """Return a spec that a workflow has, or had.

    Args:
        workflow_id: The workflow: any id but ``select``.
        version: The version of its spec.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/workflows/{segment(workflow_id)}/versions/{segment(str(version))}",
        WorkflowVersion,
    )


def restore_workflow(
    _own: str | None,
    /,
    workflow_id: str,
    version: int,
) -> Call[Workflow]:
    """Give a workflow an older spec again, as an administrator of all agents. It becomes its newest version.

    Args:
        workflow_id: The workflow: any id but ``select``.
        version: The version of its spec.

    Raises:
        Conflict: ``conflict``, ``erasing``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/workflows/{segment(workflow_id)}/versions/{segment(str(version))}/restore",
        Workflow,
    )


def workflows(
    _own: str | None,
    /,
    *,
    agent_type: str | None = None,
    task_type: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[WorkflowPage]:
    """List workflows in order of id, with what is known of their rates of success.

    Args:
        agent_type: Only those for these agents.
        task_type: Only those for this task.
        limit: The most memories of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
    """
    return Call(
        "GET",
        "/workflows",
        WorkflowPage,
        query=asked(agent_type=agent_type, task_type=task_type, limit=limit, cursor=cursor),
    )


def workflows_picture(
    _own: str | None,
    /,
    agent_type: str,
    task_type: str,
) -> Call[bytes]:
    """Draw the posteriors of the workflows of a task, the 20 with the best means, as SVG.

    Args:
        agent_type: The agents that it is for.
        task_type: The task that it competes for.
    """
    return Call(
        "GET",
        "/workflows.svg",
        bytes,
        query=asked(agent_type=agent_type, task_type=task_type),
    )


def select_workflow(
    _own: str | None,
    /,
    agent_type: str,
    task_type: str,
    *,
    seed: int | None = None,
    run_id: str | None = None,
) -> Call[SelectedWorkflow]:
    """Select a workflow for a task by Thompson sampling, and note it in the run, where one is named.

    A rate is drawn from the posterior of each enabled workflow, in order of id; the highest is chosen.

    Args:
        agent_type: The agents that it is for.
        task_type: The task that it competes for.
        seed: With the same seed and counts the same is chosen. Absent: chance.
        run_id: The running run that it is for, in which the choice is noted.

    Raises:
        Conflict: ``erasing``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        "/workflows/select",
        SelectedWorkflow,
        body=given(agent_type=agent_type, task_type=task_type, seed=seed, run_id=run_id),
    )


def record_outcome(
    _own: str | None,
    /,
    workflow_id: str,
    run_id: str,
    score: float,
) -> Call[Outcome]:
    """Count how well a run did with a workflow. The same run again, with any score, changes nothing.

    Args:
        workflow_id: The workflow: any id but ``select``.
        run_id: Which run.
        score: 0: it failed, 1: it succeeded. Six decimals count.

    Raises:
        Conflict: ``erasing``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/workflows/{segment(workflow_id)}/outcome",
        Outcome,
        body=given(run_id=run_id, score=score),
    )
