"""The pages of runs: which there were, and what happened in one, step by step."""

from collections.abc import Sequence
from typing import Final, cast, get_args

from app.domain.audit import LoggedRecall
from app.domain.episodes import RunStatus, RunsWanted
from app.domain.errors import InvalidRequest
from app.domain.json_types import Json
from app.interfaces.console.page import ConsolePage, View, Visit
from app.interfaces.cursors import Listing

page: Final = ConsolePage(
    "runs", "Runs", "Each execution of an agent, newest first, and what happened in it.", "Knowledge"
)
FIELDS = ("every", "agent_type", "status", "started_after", "started_before", "parent")
_PAGE = 25
_STEPS = 50


@page.get()
async def listing(visit: Visit) -> View:
    """List the runs that pass the filter, of the agent that was picked or of all."""
    query = visit.query
    asked = {name: query[name] for name in FIELDS}
    services, agent_id = visit.entry.shared(visit.principal.agent_id if asked["every"] else visit.agent_id)
    status = query["status"]
    try:
        wanted = RunsWanted(
            agent_id=agent_id,
            agent_type=query.get("agent_type"),
            status=cast("RunStatus", status) if status in get_args(RunStatus) else None,
            started_after=query.moment("started_after"),
            started_before=query.moment("started_before"),
            parent_run_id=query.get("parent"),
        )
        of_page = Listing(visit.entry, "runs", query.get("cursor"), wanted=wanted)
        found = await services.episodic.runs(wanted, limit=_PAGE, after=of_page.after)
    except InvalidRequest as refusal:
        return View.of("runs.html", refusal.status, asked=asked, runs=[], cursor=None, refusal=refusal)
    return View.of("runs.html", asked=asked, runs=found.items, cursor=of_page.cursor(found.after), refusal=None)


@page.get("/{run_id}")
async def replay(visit: Visit) -> View:
    """Show what happened in a run, in order."""
    run_id = visit.path["run_id"]
    services, only_agent = visit.entry.shared()
    of_page = Listing(visit.entry, "replay", visit.query.get("cursor"), run_id=run_id, only_agent=only_agent)
    found = await services.auditor.replay(run_id, limit=_STEPS, after=of_page.after, only_agent=only_agent)
    recalls = [step.what for step in found.steps if isinstance(step.what, LoggedRecall)]
    given = dict.fromkeys(str(id_) for recall in recalls for id_ in _entries(recall))
    return View.of(
        "run.html",
        run=found.run,
        steps=found.steps,
        contents=await services.lookup.contents(list(given), only_agent),
        first=of_page.after is None,
        cursor=of_page.cursor(found.after),
    )


def _entries(recall: LoggedRecall) -> Sequence[Json]:
    entries = recall.detail.get("entries")
    return entries if isinstance(entries, list) else ()
