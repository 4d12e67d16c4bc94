"""Archives the old rows of every agent; of all processes only one does so at a time."""

from collections.abc import Callable
from functools import partial

from app.domain.errors import Erasing
from app.ports.database import Row
from app.runtime.backends import Backends
from app.runtime.over_tenants import walk_alone
from app.services.archive.moving import ArchiveMover
from app.storage.system import archive

LOOK_SECONDS = 3600.0
"""The pause between two looks for agents that have old rows."""


async def archive_all(backends: Backends, days: int, ready: Callable[[], bool] = lambda: True) -> bool:
    """Archive the old rows of every agent, unless another process does so; return whether this process did.

    An agent whose archiving fails does not keep other agents waiting, and is due again the next time.

    Raises:
        Unavailable: the database does not answer.
    """

    async def move(row: Row) -> None:
        mover = ArchiveMover(backends.of_tenant(str(row["tenant_id"])), str(row["agent_id"]))
        try:
            await mover.move(int(row["until"] or 0), now=int(row["now"] or 0))
        except Erasing:  # nothing is left of the agent
            return

    due = partial(archive.due, days)
    return await walk_alone(
        backends, archive.LEASE, due, move, page=archive.MAX_AGENTS, waits="archive_waits", ready=ready
    )
