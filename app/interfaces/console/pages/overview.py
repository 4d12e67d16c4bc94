"""The first page: what the agent has, what it was given lately, and for administrators whether all parts work."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from app.domain.acts import ActFilter
from app.domain.audit import AuditEvent, AuditFilter
from app.domain.query import Filter
from app.interfaces.console.page import ConsolePage, View, Visit

page: Final = ConsolePage(
    "overview", "Overview", "What the agent has, what it was given lately, and what was done.", "Memory"
)
_NEWEST = 5
_GIVEN = 3
"""Memories that are named of each recall."""


@page.get()
async def show(visit: Visit) -> View:
    """Show the newest of each kind, each with a link to the page that has all of them."""
    agent = visit.agent
    services, agent_id = visit.entry.tenant(agent)
    usage = await services.browser.usage_of(agent)
    newest = await services.browser.list(agent_id, Filter(), limit=_NEWEST, after=None)
    recalls = await services.auditor.events(AuditFilter(agent_id=agent_id, event="recall"), limit=_NEWEST)
    given = [id_ for recall in recalls.items for id_ in _entries(recall)[:_GIVEN]]
    contents: Mapping[str, str] = await services.lookup.contents(given)
    shown: dict[str, Any] = {"usage": usage, "newest": newest.items, "acts": None, "state": None}
    if visit.principal.admin:
        shown["state"] = await visit.entry.state()
    if visit.principal.admin and visit.principal.agent_id is None:
        found = await visit.entry.every_agent().acts.list(ActFilter(), limit=_NEWEST)
        shown["acts"] = found.items
    told = [
        (recall, _entries(recall), [(id_, contents.get(id_)) for id_ in _entries(recall)[:_GIVEN]])
        for recall in recalls.items
    ]
    return View("overview.html", {**shown, "recalls": told})


def _entries(recall: AuditEvent) -> Sequence[str]:
    """Return the ids of the memories that a recall has given, best first."""
    entries = recall.detail.get("entries")
    return [str(id_) for id_ in entries] if isinstance(entries, list) else []
