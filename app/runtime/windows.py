"""Moves the turns that windows do not keep into long-term memory."""

import structlog

from app.runtime.backends import Backends
from app.runtime.over_tenants import work_off
from app.services.tiers.windows import WindowService
from app.storage.system.windows import READ_DUE, DueWindow, read_due


async def settle_once(backends: Backends) -> int:
    """Settle the next windows that are due, and return how many of them are settled completely.

    A window is due when it holds more than it keeps, or when its time has passed without use.
    """

    async def settle(due: DueWindow) -> bool:
        return await WindowService(backends.of_tenant(due.tenant_id)).settle(due.agent_id, due.instance)

    settled = await work_off(backends, READ_DUE, read_due, settle)
    if settled:
        structlog.get_logger().info("windows_settled", settled=settled)
    return settled
