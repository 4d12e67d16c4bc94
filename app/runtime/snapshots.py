"""Makes a snapshot of each tenant every night; of all processes only one does so at a time."""

from collections.abc import Callable

import structlog

from app.domain.errors import Erasing
from app.ports.database import Row
from app.runtime.backends import Backends
from app.runtime.over_tenants import walk_alone
from app.services.snapshots.keeping import SnapshotKeeper
from app.storage.system import snapshots

LOOK_SECONDS = 3600.0
"""The pause between two looks for tenants that have no snapshot since the last 02:00 UTC."""


async def snapshot_all(backends: Backends, count: int, ready: Callable[[], bool] = lambda: True) -> bool:
    """Make each snapshot that is due, unless another process does so; return whether this process did.

    ``count`` snapshots of each tenant are kept. A tenant whose snapshot fails does not keep the others waiting; it is
    due again with the next look, as are all tenants that a process did not reach before it died.

    Raises:
        Unavailable: the database does not answer.
    """

    async def keep(row: Row) -> None:
        tenant_id = str(row["tenant_id"])
        try:
            await SnapshotKeeper(backends.of_tenant(tenant_id)).keep(count)
        except Erasing as error:  # a look after the erasure's receipt makes it
            structlog.get_logger().info("snapshot_waits", tenant=tenant_id, reason=error.detail)

    return await walk_alone(
        backends,
        snapshots.LEASE,
        snapshots.due,
        keep,
        page=snapshots.MAX_TENANTS,
        waits="snapshot_waits",
        ready=ready,
    )
