"""Finds the canaries of all tenants, and lets one process of all ask for them."""

from collections.abc import Mapping

from app.domain.canaries import Canary
from app.runtime.shards import Shards
from app.storage.system import canaries


async def read_canaries(shards: Shards) -> Mapping[str, Canary | None]:
    """Return the canary of each tenant that has memories, in every shard; None: the tenant has no canary yet.

    Raises:
        Unavailable: a database does not answer: rows that cannot be read must not be taken for missing.
    """
    found: dict[str, Canary | None] = {}
    for runtime in shards.runtimes.values():
        after = ""
        while True:
            (rows,) = await runtime.backends.database.run([canaries.read(after)])
            page = canaries.read_canaries(rows)
            found |= page
            if len(rows) < canaries.MAX_TENANTS:
                break
            after = max(page)
    return found


async def hold_rounds(shards: Shards, seconds: float) -> bool:
    """Take the lease of the rounds for the time to the next one; return whether this process has it.

    Raises:
        Unavailable: the database does not answer.
    """
    backends = shards.main.backends
    lease_ms = min(int(seconds * 1000), canaries.LONGEST_MS)
    (held,) = await backends.database.run([canaries.LEASE.hold(backends.processes.name, lease_ms)])
    return bool(held)
