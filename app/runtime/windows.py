"""Moves what windows do not keep into long-term memory, of all tenants, each with its tenant's own services."""

import asyncio
from collections.abc import Callable

import structlog

from app.domain.errors import TenantMoved
from app.runtime.attempts import attempt
from app.runtime.backends import Backends
from app.services.tiers.windows import WindowService
from app.storage.system import directory
from app.storage.system.windows import READ_DUE, DueWindow, read_due

_READY_SECONDS = 1.0
_AT_ONCE = 4


async def settle_windows(backends: Backends, ready: Callable[[], bool], seconds: float) -> None:
    """Look for windows that are to give turns away, again after so many seconds, until cancelled.

    They are those that hold more than they keep, and those that nobody has used for their time.
    """

    async def settle_all() -> None:
        while ready() and await settle_once(backends):
            pass

    while True:
        pause = seconds if ready() else _READY_SECONDS
        await attempt(settle_all, waits="windows_wait")
        await asyncio.sleep(pause)


async def settle_once(backends: Backends) -> int:
    """Settle the next windows, and return of how many nothing is left to do."""
    rows, (state,) = await backends.database.run([READ_DUE, directory.COUNT_SHARDS])
    backends.shards_seen(directory.read_count(state))
    turns = asyncio.Semaphore(_AT_ONCE)

    async def settle(one: DueWindow) -> bool:
        async with turns:
            try:
                return await WindowService(backends.of_tenant(one.tenant_id)).settle(one.agent_id, one.instance)
            except TenantMoved:  # its shard's runtime does it
                return False

    settled = sum(await asyncio.gather(*map(settle, read_due(rows))))
    if settled:
        structlog.get_logger().info("windows_settled", settled=settled)
    return settled
