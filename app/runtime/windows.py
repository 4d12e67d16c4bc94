"""Moves what windows do not keep into long-term memory."""

import structlog

from app.runtime.backends import Backends
from app.runtime.over_tenants import work_off
from app.services.tiers.windows import WindowService
from app.storage.system.windows import READ_DUE, DueWindow, read_due


async def settle_once(backends: Backends) -> int:
    """Settle the next windows, and return of how many nothing is left to do.

    They are those that hold more than they keep, and those that nobody has used for their time.
    """

    async def settle(due: DueWindow) -> bool:
        return await WindowService(backends.of_tenant(due.tenant_id)).settle(due.agent_id, due.instance)

    settled = await work_off(backends, READ_DUE, read_due, settle)
    if settled:
        structlog.get_logger().info("windows_settled", settled=settled)
    return settled
