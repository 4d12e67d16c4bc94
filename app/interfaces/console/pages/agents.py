"""The page where an administrator picks the agent that the other pages are about."""

from typing import Final

from app.domain import limits
from app.interfaces.console.page import ConsolePage, See, View, Visit

page: Final = ConsolePage("agents", "Agents", "Pick the agent that the other pages are about.", None)
_SHOWN = 100


@page.get()
async def show(visit: Visit) -> View | See:
    """List the tenant's agents, the largest first, to an administrator; else take the agent's id alone.

    Who was led here because no agent is picked is led on where the tenant has one agent alone.
    """
    to = visit.query["to"] or ("overview" if visit.principal.admin else "search")
    if not visit.principal.admin:
        return View.of("agents.html", agents=[], more=False, to=to, listed=False)
    services, only = visit.entry.tenant()
    agents = [await services.browser.usage_of(only)] if only is not None else (await services.browser.usage())[1]
    if len(agents) == 1 and visit.query["only"]:
        return See.at(f"/{to}", agent=agents[0].agent_id)
    return View.of("agents.html", agents=agents[:_SHOWN], more=len(agents) > _SHOWN, to=to, listed=True)


@page.get("/pick")
async def pick(visit: Visit) -> See:
    """Lead to a page about the agent that was picked."""
    agent = visit.query.required("agent")
    limits.check(("agent_id", limits.AGENT_ID, agent))
    to = visit.query["to"] or ("overview" if visit.principal.admin else "search")
    return See.at(f"/{to}", agent=agent)
