"""The page that shows what an agent would be given at the start of a session now."""

from typing import Final

from app.domain.errors import InvalidRequest
from app.interfaces.console.fields import FormFields
from app.interfaces.console.page import ConsolePage, View, Visit
from app.services.assembly.assembler import ContextWanted

page: Final = ConsolePage(
    "session-start",
    "Session start",
    "What the agent would be given at the start of a turn now, of every tier, within a budget of tokens.",
    "Memory",
)
FIELDS = ("query", "instance", "agent_type", "max_tokens")
_TOKENS = 2_000


@page.get()
async def show(visit: Visit) -> View:
    """Assemble the context, as the API does, and show its pieces in their order."""
    agent, query = visit.agent, visit.query
    asked = {name: query[name] for name in FIELDS}
    try:
        wanted = _wanted(visit, agent, query)
        assembled = await visit.entry.agent(agent).assembler.assemble(wanted)
    except InvalidRequest as refusal:
        return View.of("session_start.html", refusal.status, asked=asked, assembled=None, refusal=refusal, budget=0)
    return View.of("session_start.html", asked=asked, assembled=assembled, refusal=None, budget=wanted.max_tokens)


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
