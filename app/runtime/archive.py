"""Archives what is old of every agent, one process of all, each with its tenant's own services."""

import asyncio
from collections.abc import Callable

from app.domain.errors import Erasing, TenantMoved
from app.indexing.lease_keeper import LeaseKeeper
from app.runtime.attempts import attempt
from app.runtime.backends import Backends
from app.services.archive.moving import ArchiveMover
from app.storage.system import archive, directory

LOOK_SECONDS = 3600.0
"""Between two looks for agents that have something old."""
_READY_SECONDS = 1.0


async def keep_archived(
    backends: Backends, ready: Callable[[], bool], days: int, seconds: float = LOOK_SECONDS
) -> None:
    """Archive what is at least so many days old every so many seconds while the service is ready, until cancelled."""
    while True:
        if ready():
            await attempt(lambda: archive_all(backends, days, ready), waits="archive_waits")
        await asyncio.sleep(seconds if ready() else _READY_SECONDS)


async def archive_all(backends: Backends, days: int, ready: Callable[[], bool] = lambda: True) -> bool:
    """Archive what is old of every agent, unless another process does so; return whether this one did.

    An agent of which it fails keeps no other waiting, and is looked at again the next time.

    Raises:
        Unavailable: the database does not answer.
    """
    since = asyncio.get_running_loop().time()
    holder, lease = backends.processes.name, archive.LEASE
    (held,) = await backends.database.run([lease.hold(holder)])
    if not held:
        return False
    keeper = LeaseKeeper(backends.database, lease, holder)
    try:
        return await keeper.keep(_walk(backends, days, ready), since=since, lease_ms=lease.longest_ms)
    finally:
        await backends.database.run([lease.release(holder)])


async def _walk(backends: Backends, days: int, ready: Callable[[], bool]) -> None:
    after = ("", "")
    while True:
        rows, (state,) = await backends.database.run([archive.due(days, after), directory.COUNT_SHARDS])
        backends.shards_seen(directory.read_count(state))
        for row in rows:
            if not ready():
                return
            after = (str(row["tenant_id"]), str(row["agent_id"]))
            until, now = int(row["until"] or 0), int(row["now"] or 0)
            await attempt(
                lambda whose=after, until=until, now=now: _archive(backends, whose, until, now),  # type: ignore[misc]
                waits="archive_waits",
            )
        if len(rows) < archive.MAX_AGENTS:
            return


async def _archive(backends: Backends, whose: tuple[str, str], until: int, now: int) -> None:
    tenant_id, agent_id = whose
    try:
        await ArchiveMover(backends.of_tenant(tenant_id), agent_id).move(until, now=now)
    except (TenantMoved, Erasing):  # its shard's runtime does it, or nothing is left of it
        return
