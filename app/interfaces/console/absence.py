"""What became of a memory that an agent does not have, as far as a visitor may know."""

from collections.abc import Sequence
from typing import Any

from app.domain.audit import AuditEvent, AuditFilter
from app.interfaces.console.page import Visit

_EVENTS = 5


async def absence(visit: Visit, agent: str, memory_id: str) -> dict[str, Any]:
    """Return the newest ``events`` of a memory, and as ``owner`` the agent of the tenant that has it, or None."""
    principal = visit.principal
    may_read = principal.admin or principal.agent_id is not None
    services, only_agent = visit.entry.tenant(agent) if may_read else (None, None)
    events: Sequence[AuditEvent] = []
    if services is not None:
        where = AuditFilter(agent_id=only_agent, memory_id=memory_id)
        events = (await services.auditor.events(where, limit=_EVENTS)).items
    owner = None
    if services is not None and principal.admin and principal.agent_id is None:
        owner = await services.lookup.agent_of(memory_id)
    return {"events": events, "owner": owner}
