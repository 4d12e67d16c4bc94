"""Goes on with the ingestions that a process has left undone."""

import structlog

from app.indexing.lease_keeper import log_void
from app.runtime.backends import Backends
from app.runtime.over_tenants import work_off
from app.services.ingest.ingester import Ingester
from app.storage import lease_rule
from app.storage.system.ingestions import READ_ABANDONED, AbandonedIngestion, read_abandoned

LOOK_SECONDS = 300.0
"""The pause between two looks for abandoned ingestions: on a metered service each is a call, and most find nothing."""
LEASED_SECONDS = lease_rule.SECONDS + 15.0
"""The pause between the first and the second look after a start, in which leases of an earlier process end."""


async def resume_once(backends: Backends) -> int:
    """Go on with ingestions on which no process works now, and return how many of them were finished."""

    async def resume(left: AbandonedIngestion) -> bool:
        if left.lease is not None:
            log_void(left.lease)
        ingester = Ingester(backends.of_tenant(left.tenant_id, left.author))
        return await ingester.resume(left.agent_id, left.session_id, left.id)

    finished = await work_off(backends, READ_ABANDONED, read_abandoned, resume)
    if finished:
        structlog.get_logger().info("ingestions_resumed", finished=finished)
    return finished
