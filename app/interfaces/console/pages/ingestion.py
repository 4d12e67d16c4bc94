"""The pages of ingestions: how far each is, and what a language model has learned of its messages."""

from typing import Final

from app.interfaces.console.page import ConsolePage, See, View, Visit

page: Final = ConsolePage(
    "ingestion",
    "Ingestion",
    "Conversations that were handed over: which messages have become memories, and what was learned of them.",
    "Operation",
)
_NEWEST = 50


@page.get()
async def listing(visit: Visit) -> View:
    """List the agent's newest ingestions."""
    agent = visit.agent
    found = await visit.entry.agent(agent).ingester.newest(agent, _NEWEST)
    return View.of("ingestions.html", ingestions=found, more=len(found) == _NEWEST)


@page.get("/{operation_id}")
async def one(visit: Visit) -> View:
    """Show an ingestion by its stages."""
    agent = visit.agent
    ingester = visit.entry.agent(agent).ingester
    found = await ingester.ingestion(agent, visit.path["operation_id"])
    report = await ingester.learning(found)
    return View.of("ingestion.html", ingestion=found, report=report, done=visit.query["done"])


@page.post("/{operation_id}/retry", "write")
async def retry(visit: Visit) -> See:
    """Learn again what was not learned."""
    agent, operation_id = visit.agent, visit.path["operation_id"]
    await visit.entry.agent(agent).ingester.retry(agent, operation_id)
    return See.at(f"/ingestion/{operation_id}", agent=agent, done="retried")
