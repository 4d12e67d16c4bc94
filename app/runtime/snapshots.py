"""Makes a snapshot of each tenant every night, one process of all, each with its tenant's own services."""

import asyncio
from collections.abc import Callable

import structlog

from app.domain.errors import Erasing, TenantMoved
from app.indexing.lease_keeper import LeaseKeeper
from app.runtime.attempts import attempt
from app.runtime.backends import Backends
from app.services.snapshots.keeping import SnapshotKeeper
from app.storage.system import directory, snapshots

LOOK_SECONDS = 3600.0
"""Between two looks for tenants that have no snapshot since the last 02:00 UTC."""
_READY_SECONDS = 1.0


async def keep_snapshots(
    backends: Backends, ready: Callable[[], bool], count: int, seconds: float = LOOK_SECONDS
) -> None:
    """Look for tenants whose snapshot is due every so many seconds while the service is ready, until cancelled.

    ``count`` is how many snapshots of each tenant are kept.
    """
    while True:
        if ready():
            await attempt(lambda: snapshot_all(backends, count, ready), waits="snapshots_wait")
        await asyncio.sleep(seconds if ready() else _READY_SECONDS)


async def snapshot_all(backends: Backends, count: int, ready: Callable[[], bool] = lambda: True) -> bool:
    """Make each snapshot that is due, unless another process does so; return whether this one did.

    A tenant whose snapshot fails does not keep the others waiting; it is due again with the next look, as all are that
    a process has not come to before it died.

    Raises:
        Unavailable: the database does not answer.
    """
    since = asyncio.get_running_loop().time()
    holder, lease = backends.processes.name, snapshots.LEASE
    (held,) = await backends.database.run([lease.hold(holder)])
    if not held:
        return False
    keeper = LeaseKeeper(backends.database, lease, holder)
    try:
        return await keeper.keep(_walk(backends, count, ready), since=since, lease_ms=lease.longest_ms)
    finally:
        await backends.database.run([lease.release(holder)])


async def _walk(backends: Backends, count: int, ready: Callable[[], bool]) -> None:
    after = ""
    while True:
        rows, (state,) = await backends.database.run([snapshots.due(after), directory.COUNT_SHARDS])
        backends.shards_seen(directory.read_count(state))
        for row in rows:
            if not ready():
                return
            after = str(row["tenant_id"])
            await attempt(lambda tenant_id=after: _snapshot(backends, tenant_id, count), waits="snapshot_waits")  # type: ignore[misc]
        if len(rows) < snapshots.MAX_TENANTS:
            return


async def _snapshot(backends: Backends, tenant_id: str, count: int) -> None:
    try:
        await SnapshotKeeper(backends.of_tenant(tenant_id)).keep(count)
    except TenantMoved:  # its shard's runtime does it
        return
    except Erasing as error:  # a look after the receipt does it
        structlog.get_logger().info("snapshot_waits", tenant=tenant_id, reason=error.detail)
