"""The routes for workflows: put, look at, select by Thompson sampling, and count outcomes."""

from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from starlette.convertors import StringConvertor, register_url_convertor

from app.domain import limits
from app.domain.errors import (
    Conflict,
    Erasing,
    InvalidCursor,
    InvalidRequest,
    NotFound,
    QuotaExceeded,
    SensitiveContent,
)
from app.domain.workflows import NewWorkflow
from app.interfaces import workflow_curves
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import (
    OCTETS,
    Administrator,
    BodylessAdministrator,
    ReadCaller,
    ReadWriteCaller,
    WriteCaller,
    no_query,
    octets_or,
)
from app.interfaces.http.router import Router
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.workflows import (
    OutcomeAnswer,
    OutcomeRequest,
    PictureQuery,
    SelectionAnswer,
    SelectRequest,
    WorkflowAnswer,
    WorkflowId,
    WorkflowRequest,
    WorkflowsAnswer,
    WorkflowsQuery,
    WorkflowTextAnswer,
    WorkflowVersionAnswer,
    WorkflowVersionNumber,
    WorkflowVersionsAnswer,
)

_SVG = {"schema": {"type": "string", "format": "binary"}, "example": examples.PICTURE}
_PICTURE: dict[int | str, dict[str, Any]] = {
    200: {
        # A generator that does not know the first media type would leave the operation out.
        "content": {workflow_curves.MEDIA_TYPE: _SVG, OCTETS: _SVG},
        "description": "The picture.",
    }
}


class _IdConvertor(StringConvertor):
    """Takes any id but ``select``: that path is the selection's, with its one method."""

    regex = "(?!select$)[^/]+"


register_url_convertor("workflow", _IdConvertor())
_WORKFLOW = "/workflows/{workflow_id:workflow}"

workflows = Router("workflows")


@workflows.put(_WORKFLOW, Conflict, Erasing, SensitiveContent, QuotaExceeded, act="workflow.put")
async def put_workflow(caller: Administrator, workflow_id: WorkflowId, request: WorkflowRequest) -> WorkflowAnswer:
    """Make a workflow, or change it, as an administrator of all agents: its counts and its types stay.

    A spec that is replaced stays as a version, the last 10 of them.
    """
    services = caller.every_agent()
    return WorkflowAnswer.model_validate(await services.workflows.put(request.to(NewWorkflow, workflow_id=workflow_id)))


@workflows.get(_WORKFLOW, NotFound)
async def get_workflow(caller: ReadCaller, workflow_id: WorkflowId) -> WorkflowAnswer:
    """Return a workflow with what is known of its rate of success."""
    services, _ = caller.shared()
    return WorkflowAnswer.model_validate(await services.workflows.get(workflow_id))


@workflows.delete(_WORKFLOW, Erasing, act="workflow.delete", status_code=204)
async def delete_workflow(caller: Administrator, workflow_id: WorkflowId) -> None:
    """Delete a workflow, as an administrator of all agents. One that is not there is no error."""
    await caller.every_agent().workflows.delete(workflow_id)


@workflows.get(f"{_WORKFLOW}/versions", NotFound, response_model_exclude_none=True)
async def workflow_versions(caller: ReadCaller, workflow_id: WorkflowId) -> WorkflowVersionsAnswer:
    """List the specs of a workflow, newest first: that which it has, and those that were replaced; who wrote each."""
    services, _ = caller.shared()
    versions = await services.workflows.versions(workflow_id)
    return WorkflowVersionsAnswer(versions=[WorkflowTextAnswer.model_validate(version) for version in versions])


@workflows.get(f"{_WORKFLOW}/versions/{{version}}", NotFound, response_model_exclude_none=True)
async def workflow_version(
    caller: ReadCaller, workflow_id: WorkflowId, version: WorkflowVersionNumber
) -> WorkflowVersionAnswer:
    """Return a spec that a workflow has, or had."""
    services, _ = caller.shared()
    return WorkflowVersionAnswer.model_validate(await services.workflows.version(workflow_id, version))


@workflows.post(
    f"{_WORKFLOW}/versions/{{version}}/restore",
    NotFound,
    InvalidRequest,
    Conflict,
    Erasing,
    QuotaExceeded,
    body=(),
    act="workflow.restore",
    dependencies=[Depends(no_query)],
)
async def restore_workflow(
    caller: BodylessAdministrator, workflow_id: WorkflowId, version: WorkflowVersionNumber
) -> WorkflowAnswer:
    """Give a workflow an older spec again, as an administrator of all agents. It becomes its newest version."""
    return WorkflowAnswer.model_validate(await caller.every_agent().workflows.restore(workflow_id, version))


@workflows.get("/workflows", InvalidCursor, name="workflows", response_model_exclude_none=True)
async def list_workflows(caller: ReadCaller, query: Annotated[WorkflowsQuery, Query()]) -> WorkflowsAnswer:
    """List workflows in order of id, with what is known of their rates of success."""
    services, _ = caller.shared()
    agent_type, task_type = query.agent_type, query.task_type
    listing = Listing(caller, "workflows", query.cursor, agent_type=agent_type, task_type=task_type)
    page = await services.workflows.page(agent_type, task_type, limit=query.limit, after=listing.after)
    return WorkflowsAnswer.model_validate({"workflows": page.items, "cursor": listing.cursor(page.after)})


@workflows.get("/workflows.svg", answers=_PICTURE, response_class=Response)
async def workflows_picture(request: Request, caller: ReadCaller, query: Annotated[PictureQuery, Query()]) -> Response:
    """Draw the posteriors of the workflows of a task, the 20 with the best means, as SVG."""
    services, _ = caller.shared()
    most = limits.MAX_WORKFLOWS_OF_TASK
    page = await services.workflows.page(query.agent_type, query.task_type, limit=most)
    picture = workflow_curves.render(query.agent_type, query.task_type, page.items)
    media_type = octets_or(workflow_curves.MEDIA_TYPE, request)
    return Response(picture, media_type=media_type, headers=workflow_curves.HEADERS)


@workflows.post("/workflows/select", NotFound, Erasing, QuotaExceeded)
async def select_workflow(caller: ReadWriteCaller, request: SelectRequest) -> SelectionAnswer:
    """Select a workflow for a task by Thompson sampling, and note it in the run, where one is named.

    A rate is drawn from the posterior of each enabled workflow, in order of id; the highest is chosen.
    """
    services, agent_id = caller.shared()
    selection = await services.workflows.select(
        request.agent_type, request.task_type, seed=request.seed, run_id=request.run_id, agent_id=agent_id
    )
    return SelectionAnswer.model_validate(selection)


@workflows.post(f"{_WORKFLOW}/outcome", NotFound, Erasing, QuotaExceeded)
async def record_outcome(caller: WriteCaller, workflow_id: WorkflowId, request: OutcomeRequest) -> OutcomeAnswer:
    """Count how well a run did with a workflow. The same run again, with any score, changes nothing."""
    services, agent_id = caller.shared()
    outcome = await services.workflows.outcome(workflow_id, request.run_id, request.score, agent_id=agent_id)
    return OutcomeAnswer.model_validate(outcome)
