"""The page that shows what an agent would be given at the start of a session now."""

from typing import Final

from app.domain.errors import InvalidRequest
from app.interfaces.console.fields import FormFields
from app.interfaces.console.page import ConsolePage, View, Visit
from app.services.assembly.assembler import ContextWanted

page: Final = ConsolePage(
    "session-start",
    "Session start",
    "What the agent would be given now: what each tier has, within a budget of tokens, or the summary that hooks give.",
    "Memory",
)
FIELDS = ("what", "query", "instance", "agent_type", "max_tokens")
_TOKENS = 2_000


@page.get()
async def show(visit: Visit) -> View:
    """Show the pieces of the context in their order, or the summary; both are what the API answers with."""
    agent, query = visit.agent, visit.query
    asked = {name: query[name] for name in FIELDS}
    shown = {"asked": asked, "assembled": None, "summary": None, "refusal": None, "budget": 0}
    services = visit.entry.agent(agent)
    try:
        if asked["what"] == "summary":
            return View("session_start.html", shown | {"summary": await services.profiles.summary(agent, None)})
        wanted = _wanted(visit, agent, query)
        assembled = await services.assembler.assemble(wanted)
    except InvalidRequest as refusal:
        return View("session_start.html", shown | {"refusal": refusal}, refusal.status)
    return View("session_start.html", shown | {"assembled": assembled, "budget": wanted.max_tokens})


def _wanted(visit: Visit, agent: str, query: FormFields) -> ContextWanted:
    text = query.get("query")
    return ContextWanted(
        agent,
        query.number("max_tokens", _TOKENS),
        instance=query.get("instance"),
        agent_type=query.get("agent_type"),
        query=text,
        prefetch=text is not None,
        only_agent=visit.principal.agent_id,
    )
