"""Operations on workflows: the ways to do a task, which compete for it. They are a tenant's, not an agent's."""

from collections.abc import Mapping
from types import NoneType
from typing import Any

from memory_gateway_client.request import Call, given, segment
from memory_gateway_client.tiers import procedural_types as types


def put_workflow(
    _own: str | None,
    /,
    workflow_id: str,
    agent_type: str,
    task_type: str,
    spec: Mapping[str, Any],
    *,
    discount: float | None = None,
    enabled: bool | None = None,
) -> Call[types.Workflow]:
    """Make a workflow, or change it, as an administrator of all agents. Its counts stay.

    A spec that is replaced stays as a version, the last 10 of them.

    Args:
        workflow_id: Its id, one in the tenant.
        agent_type: The agents that it is for, which cannot change.
        task_type: The task that it competes for, which cannot change.
        spec: What is done in it: a JSON object, at most 100,000 bytes.
        discount: What is left of its counts at each outcome of its task, above 0, at most 1; None: 1, all of them.
        enabled: Whether it is selected; None: it is.

    Raises:
        InvalidRequest: a field is over its limits.
        QuotaExceeded: the tenant (1,000) or the task (100) has as many as it may (``quota_exceeded``).
        Conflict: it is there for another agent type or task, or the tenant is being erased.
        Unavailable: it may be put; putting it again is safe.
    """
    body = given(agent_type=agent_type, task_type=task_type, spec=spec, discount=discount, enabled=enabled)
    return Call("PUT", f"/workflows/{segment(workflow_id)}", types.Workflow, body=body)


def get_workflow(_own: str | None, /, workflow_id: str) -> Call[types.Workflow]:
    """Return a workflow with what is known of its rate of success.

    Args:
        workflow_id: Which.

    Raises:
        NotFound: the tenant has no such workflow.
        InvalidRequest: the id has not the form of one.
        Unavailable: there is no answer.
    """
    return Call("GET", f"/workflows/{segment(workflow_id)}", types.Workflow)


def delete_workflow(_own: str | None, /, workflow_id: str) -> Call[None]:
    """Delete a workflow, as an administrator of all agents. One that is not there is no error.

    Args:
        workflow_id: Which.

    Raises:
        InvalidRequest: the id has not the form of one.
        Unavailable: it may be deleted; deleting it again is safe.
    """
    return Call("DELETE", f"/workflows/{segment(workflow_id)}", NoneType, status=204)


def workflow_versions(_own: str | None, /, workflow_id: str) -> Call[types.WorkflowVersions]:
    """List the specs of a workflow, newest first: that which it has, and those that were replaced.

    Args:
        workflow_id: Which workflow.

    Raises:
        NotFound: the tenant has no such workflow.
        InvalidRequest: the id has not the form of one.
        Unavailable: there is no answer.
    """
    return Call("GET", f"/workflows/{segment(workflow_id)}/versions", types.WorkflowVersions)


def workflow_version(_own: str | None, /, workflow_id: str, version: int) -> Call[types.WorkflowVersion]:
    """Return a spec that a workflow has, or had.

    Args:
        workflow_id: Which workflow.
        version: Which of its specs, from 1.

    Raises:
        NotFound: the tenant has no such workflow, or it has not this version any more.
        InvalidRequest: a field is over its limits.
        Unavailable: there is no answer.
    """
    return Call("GET", f"/workflows/{segment(workflow_id)}/versions/{version}", types.WorkflowVersion)


def restore_workflow(_own: str | None, /, workflow_id: str, version: int) -> Call[types.Workflow]:
    """Give a workflow an older spec again, as an administrator of all agents. It becomes its newest version.

    Args:
        workflow_id: Which workflow.
        version: Which of its specs, from 1.

    Raises:
        NotFound: the tenant has no such workflow, or it has not this version any more.
        InvalidRequest: a field is over its limits.
        Unavailable: it may be restored; restoring it again is safe.
    """
    return Call("POST", f"/workflows/{segment(workflow_id)}/versions/{version}/restore", types.Workflow)


def workflows(
    _own: str | None,
    /,
    *,
    agent_type: str | None = None,
    task_type: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[types.WorkflowPage]:
    """List workflows in order of id, without their specs.

    Args:
        agent_type: Only those for these agents.
        task_type: Only those for this task.
        limit: The most workflows of one page, 1 to 100; None: 20.
        cursor: Of the page before, to the same question; good for 24 hours.

    Raises:
        InvalidRequest: a field is over its limits, or the listing has to start again (``invalid_cursor``).
        Unavailable: there is no answer.
    """
    query = given(
        agent_type=agent_type, task_type=task_type, limit=None if limit is None else str(limit), cursor=cursor
    )
    return Call("GET", "/workflows", types.WorkflowPage, query=query)


def select_workflow(
    _own: str | None,
    /,
    agent_type: str,
    task_type: str,
    *,
    seed: int | None = None,
    run_id: str | None = None,
) -> Call[types.SelectedWorkflow]:
    """Select a workflow for a task by Thompson sampling: the better it did, the likelier it is chosen.

    Args:
        agent_type: The type of the agent that does the task.
        task_type: The task.
        seed: With the same seed and counts the same is chosen; None: chance.
        run_id: The running run that it is for, in which the choice is noted.

    Raises:
        NotFound: there is no enabled workflow for the task, or no such run that runs.
        InvalidRequest: a field is over its limits, or the run is of another agent type.
        Unavailable: there is no answer; asking again is safe.
    """
    body = given(agent_type=agent_type, task_type=task_type, seed=seed, run_id=run_id)
    return Call("POST", "/workflows/select", types.SelectedWorkflow, body=body)


def record_outcome(_own: str | None, /, workflow_id: str, run_id: str, score: float) -> Call[types.Outcome]:
    """Count how well a run did with a workflow. The same run again, with any score, changes nothing.

    Args:
        workflow_id: Which workflow.
        run_id: Which run, of the workflow's agent type.
        score: 0 where it failed, 1 where it succeeded, or between. Six decimals count.

    Raises:
        NotFound: the tenant has no such workflow, or no such run.
        InvalidRequest: a field is over its limits, or the run is of another agent type.
        Unavailable: it may be counted; sending it again is safe, and tells ``counted=False`` then.
    """
    path = f"/workflows/{segment(workflow_id)}/outcome"
    return Call("POST", path, types.Outcome, body={"run_id": run_id, "score": score})
