"""Releases the leases of this process when it ends, and of processes of this machine that have died.

Other processes can then go on with their work at once.
"""

import structlog

from app.runtime.backends import Backends
from app.runtime.ingestions import resume_once
from app.storage.system.leases import release_all_of

LOOK_SECONDS = 1.0
"""The pause between two looks for processes that have died; a look reads a folder and no database."""


async def release_all(backends: Backends) -> int:
    """Release the leases of all processes that have died, and return how many leases there were.

    Raises:
        Unavailable: the database does not answer; the leases are released with the next call.
    """
    count = 0
    for name in backends.processes.dead():
        leases = sum(map(len, await backends.database.run(release_all_of(name))))
        backends.processes.forget(name)
        structlog.get_logger().warning("leases_of_dead_process", process=name, leases=leases)
        count += leases
    return count


async def release_own(backends: Backends) -> None:
    """Release the leases of this process, whose work has stopped.

    Raises:
        Unavailable: the database does not answer; the leases end by themselves, or another process releases them.
    """
    await backends.database.run(release_all_of(backends.processes.name))


async def take_over(backends: Backends) -> None:
    """Release the leases of processes that have died, and go on with their work."""
    if await release_all(backends):
        backends.acknowledgements.wake()  # the indexer takes its lease
        await resume_once(backends)
