"""The pages of workflows: how well each does, and the texts that it has and had."""

from typing import Final

from starlette.responses import Response

from app.domain import limits
from app.domain.errors import InvalidRequest
from app.domain.workflows import ListedWorkflow
from app.interfaces import workflow_curves
from app.interfaces.console.page import ConsolePage, View, Visit
from app.interfaces.cursors import Listing

page: Final = ConsolePage(
    "workflows",
    "Workflows",
    "The ways to do a task that compete for it, and how often each succeeds, as the agent knows it.",
    "Knowledge",
)
_PAGE = 50


@page.get()
async def listing(visit: Visit) -> View:
    """List workflows, those of a task together."""
    query = visit.query
    asked = {name: query[name] for name in ("agent_type", "task_type")}
    agent_type, task_type = query.get("agent_type"), query.get("task_type")
    services, _ = visit.entry.for_agent(visit.agent_id).shared()
    try:
        of_page = Listing(visit.entry, "workflows", query.get("cursor"), agent_type=agent_type, task_type=task_type)
        found = await services.workflows.page(agent_type, task_type, limit=_PAGE, after=of_page.after)
    except InvalidRequest as refusal:
        return View.of("workflows.html", refusal.status, asked=asked, tasks=[], cursor=None, refusal=refusal)
    tasks: dict[tuple[str, str], list[ListedWorkflow]] = {}
    for workflow in found.items:
        tasks.setdefault((workflow.agent_type, workflow.task_type), []).append(workflow)
    cursor = of_page.cursor(found.after)
    return View.of("workflows.html", asked=asked, tasks=sorted(tasks.items()), cursor=cursor, refusal=None)


@page.get("/curves.svg")
async def curves(visit: Visit) -> Response:
    """Draw the posteriors of the workflows of a task."""
    agent_type, task_type = visit.query.required("agent_type"), visit.query.required("task_type")
    services, _ = visit.entry.for_agent(visit.agent_id).shared()
    found = await services.workflows.page(agent_type, task_type, limit=limits.MAX_WORKFLOWS_OF_TASK)
    picture = workflow_curves.render(agent_type, task_type, found.items)
    return Response(picture, media_type=workflow_curves.MEDIA_TYPE, headers=workflow_curves.HEADERS)


@page.get("/{workflow_id}")
async def one(visit: Visit) -> View:
    """Show a workflow, its text, and the texts that it had."""
    workflow_id = visit.path["workflow_id"]
    services, _ = visit.entry.for_agent(visit.agent_id).shared()
    workflow = await services.workflows.get(workflow_id)
    return View.of("workflow.html", workflow=workflow, versions=await services.workflows.versions(workflow_id))
