"""Goes on with the ingestions that a process has left undone, of all tenants, each with its tenant's own services."""

import asyncio
from collections.abc import Callable

import structlog

from app.domain.errors import TenantMoved
from app.indexing.lease_keeper import log_void
from app.runtime.attempts import attempt
from app.runtime.backends import Backends
from app.services.ingest.ingester import Ingester
from app.storage import lease_rule
from app.storage.system import directory
from app.storage.system.ingestions import READ_ABANDONED, AbandonedIngestion, read_abandoned

LOOK_SECONDS = 300.0
"""Between two looks for abandoned ingestions: on a metered service each is a call, and most find nothing."""
_READY_SECONDS = 1.0
_LEASED_SECONDS = lease_rule.SECONDS + 15.0
"""From the first look after a start to the second one."""
_AT_ONCE = 4


async def resume_ingestions(backends: Backends, ready: Callable[[], bool]) -> None:
    """Go on with abandoned ingestions once the service is ready, and look again after a while, until cancelled."""

    async def resume_all() -> None:
        while ready() and await resume_once(backends):
            pass

    first = True
    while True:
        seconds = LOOK_SECONDS if ready() else _READY_SECONDS
        if ready() and first:  # what the process before this one had begun is its own until its lease has ended
            seconds, first = _LEASED_SECONDS, False
        await attempt(resume_all, waits="ingestions_wait")
        await asyncio.sleep(seconds)


async def resume_once(backends: Backends) -> int:
    """Go on with those that nobody works on now, and return how many of them were finished."""
    rows, (state,) = await backends.database.run([READ_ABANDONED, directory.COUNT_SHARDS])
    backends.shards_seen(directory.read_count(state))
    turns = asyncio.Semaphore(_AT_ONCE)

    async def resume(one: AbandonedIngestion) -> bool:
        async with turns:
            if one.lease is not None:
                log_void(one.lease)
            ingester = Ingester(backends.of_tenant(one.tenant_id, one.author))
            try:
                return await ingester.resume(one.agent_id, one.session_id, one.id)
            except TenantMoved:  # its shard's runtime does it
                return False

    finished = sum(await asyncio.gather(*map(resume, read_abandoned(rows))))
    if finished:
        structlog.get_logger().info("ingestions_resumed", finished=finished)
    return finished
