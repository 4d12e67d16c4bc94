"""The page of what goes on behind the answers: the service's parts, the outbox, dead letters and erasures."""

from typing import Final

from app.interfaces.console.page import ConsolePage, View, Visit

page: Final = ConsolePage(
    "operations",
    "Health",
    "Whether the parts of the service work, what is on its way to the index, and what was erased.",
    "Operation",
    "admin",
)
_NEWEST = 50


@page.get("", "admin")
async def show(visit: Visit) -> View:
    """Show the state of the service, the tenant's backlog, and its erasures with their receipts."""
    services, only_agent = visit.entry.tenant(visit.principal.agent_id)
    state = await visit.entry.state()
    backlog, dead_letters = await services.browser.backlog(only_agent, _NEWEST)
    return View.of(
        "operations.html",
        state=state,
        latencies=state.latencies,
        backlog=backlog,
        dead_letters=dead_letters,
        erasures=await services.gateway.erasures(only_agent, _NEWEST),
    )
