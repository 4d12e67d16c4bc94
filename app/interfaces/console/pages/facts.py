"""The page that lists what an agent holds to be true, and what it held before."""

from typing import Final

from app.domain.errors import InvalidRequest
from app.interfaces.console.page import ConsolePage, View, Visit
from app.interfaces.cursors import Listing

page: Final = ConsolePage(
    "facts",
    "Facts",
    "What was told as subject, predicate and object, newest first. Memories of the kind fact are sentences: they are "
    "listed on the page Memories.",
    "Knowledge",
)
FIELDS = ("subject", "predicate", "run", "history")
_PAGE = 25


@page.get()
async def listing(visit: Visit) -> View:
    """List the facts that hold, and with ``history`` those that held before."""
    agent, query = visit.agent, visit.query
    asked = {name: query[name] for name in FIELDS}
    conditions = {
        "subject": query.get("subject"),
        "predicate": query.get("predicate"),
        "learned_from_run_id": query.get("run"),
    }
    history = bool(query["history"])
    services = visit.entry.agent(agent)
    try:
        of_page = Listing(visit.entry, "facts", query.get("cursor"), agent_id=agent, history=history, **conditions)
        found = await services.semantic.facts(agent, history=history, limit=_PAGE, after=of_page.after, **conditions)
    except InvalidRequest as refusal:
        return View.of("facts.html", refusal.status, asked=asked, facts=[], cursor=None, refusal=refusal)
    return View.of("facts.html", asked=asked, facts=found.items, cursor=of_page.cursor(found.after), refusal=None)
