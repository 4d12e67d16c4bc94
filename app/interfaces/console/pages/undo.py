"""The page that takes back what a run, a session or a credential has taught, once it was shown what that would do."""

from collections.abc import Mapping
from typing import Final

from app.domain.errors import InvalidRequest, NotFound
from app.domain.undoing import Selected
from app.interfaces.console.fields import FormFields
from app.interfaces.console.page import ConsolePage, See, View, Visit

page: Final = ConsolePage(
    "undo",
    "Take back a source",
    "Take back all that a session, a run or a credential has taught. What it had replaced holds again.",
    "Memory",
    reach="tenant",
)
FIELDS = ("agent_id", "session_id", "run_id", "credential_id")
_COUNTS = ("memories", "changed", "messages", "outcomes")
_SHOWN = 20


@page.get("", "admin")
async def show(visit: Visit) -> View:
    """Show the form and, where a source is named, what taking it back would do. Nothing is changed."""
    query = visit.query
    asked = {name: query[name] for name in FIELDS}
    done = {name: query.number(name, 0) for name in _COUNTS} if query["done"] else None
    shown = {"asked": asked, "forecast": None, "contents": {}, "done": done, "more": query["more"], "refusal": None}
    if done is not None or not any(asked.values()):
        return View("undo.html", shown)
    services = visit.entry.every_agent()
    try:
        undone = await services.undo_taught.dry_run(_selected(visit, query))
    except (InvalidRequest, NotFound) as refusal:
        return View("undo.html", shown | {"refusal": refusal}, refusal.status)
    going = [] if undone.forecast is None else [each.id for each in undone.forecast.going[:_SHOWN]]
    contents: Mapping[str, str] = await services.lookup.contents(going)
    return View("undo.html", shown | {"forecast": undone, "contents": contents})


@page.post("/run", "admin", act="taught.undo")
async def run(visit: Visit) -> See:
    """Take the source back."""
    form = visit.form
    undone = await visit.entry.every_agent().undo_taught.run(_selected(visit, form))
    counts = {name: int(getattr(undone, name)) for name in _COUNTS}
    visit.entry.counts.update(counts)
    given = {name: form.get(name) for name in FIELDS}
    told = {name: str(count) for name, count in counts.items()}
    return See.at("/undo", done="yes", more="yes" if undone.more else None, **given, **told)


def _selected(visit: Visit, fields: FormFields) -> Selected:
    """Return the source that the fields name; an agent alone is none.

    Raises:
        InvalidRequest: no source or several are named, or an id has another form.
        Forbidden: the agent is the service's own.
    """
    session_id = fields.get("session_id")
    agent_id = fields.get("agent_id") if session_id is not None else None
    if agent_id is not None:
        visit.principal.check_agent(agent_id)
    return Selected(fields.get("run_id"), agent_id, session_id, fields.get("credential_id"))
