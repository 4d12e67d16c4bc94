"""The page of what is used, and of the limits."""

from typing import Final

from app.interfaces.console.page import ConsolePage, View, Visit

page: Final = ConsolePage("usage", "Usage", "What is stored, and how much of each limit is used.", "Operation")
_SHOWN = 100


@page.get()
async def show(visit: Visit) -> View:
    """Show the use of the agent, or to an administrator of the tenant and of its agents."""
    services, agent_id = visit.entry.tenant(visit.principal.agent_id)
    if agent_id is not None:
        own = await services.browser.usage_of(agent_id)
        return View.of("usage.html", tenant=None, agents=[own], more=False, kept={}, models=None)
    tenant, agents, kept = await services.browser.usage()
    models = await services.browser.model_usage()
    more = len(agents) > _SHOWN
    return View.of("usage.html", tenant=tenant, agents=agents[:_SHOWN], more=more, kept=kept.counts, models=models)
