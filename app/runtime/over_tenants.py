"""Does work over all tenants of a shard; the work of each tenant uses the tenant's own services."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from app.domain.errors import TenantMoved
from app.indexing.lease_keeper import LeaseKeeper
from app.ports.database import Row, Statement
from app.runtime.backends import Backends
from app.runtime.periodic import attempt
from app.storage.system import directory
from app.storage.system.leases import NamedLease

_AT_ONCE = 4

T = TypeVar("T")


async def walk_alone(
    backends: Backends,
    lease: NamedLease,
    due: Callable[[Row], Statement],
    work: Callable[[Row], Awaitable[None]],
    *,
    page: int,
    waits: str,
    ready: Callable[[], bool],
) -> bool:
    """Do the work of each due row, one after another, unless another process does; return whether this process did.

    ``due`` returns the statement that reads the next ``page`` rows after a given row, at first after an empty one. A
    row whose work fails does not keep other rows waiting: the failure is logged, an outage under the event ``waits``.
    The walk ends early where the process is not ``ready`` any more.

    Raises:
        Unavailable: the database does not answer.
    """
    since = asyncio.get_running_loop().time()
    holder = backends.processes.name
    (held,) = await backends.database.run([lease.hold(holder)])
    if not held:
        return False

    async def walk() -> None:
        rows: Sequence[Row] = [{}]
        while rows:
            rows = await _read(backends, due(rows[-1]))
            for row in rows:
                if not ready():
                    return
                await attempt(lambda row=row: _unless_moved(work(row)), waits=waits)  # type: ignore[misc]
            if len(rows) < page:
                return

    try:
        keeper = LeaseKeeper(backends.database, lease, holder)
        return await keeper.keep(walk(), since=since, lease_ms=lease.longest_ms)
    finally:
        await backends.database.run([lease.release(holder)])


async def work_off(
    backends: Backends,
    due: Statement,
    read: Callable[[Sequence[Row]], Sequence[T]],
    work: Callable[[T], Awaitable[bool]],
) -> int:
    """Do the next work that is due, four pieces at once, and return how many pieces were finished.

    No piece goes on after this has returned or raised.

    Raises:
        MemoryGatewayError: the database does not answer, or the work of a piece has failed; the others were done.
    """
    turns = asyncio.Semaphore(_AT_ONCE)

    async def take(one: T) -> bool:
        async with turns:
            return bool(await _unless_moved(work(one)))

    pieces = map(take, read(await _read(backends, due)))
    outcomes = await asyncio.gather(*pieces, return_exceptions=True)
    if failures := [outcome for outcome in outcomes if isinstance(outcome, BaseException)]:
        raise failures[0]
    return outcomes.count(True)


async def _read(backends: Backends, statement: Statement) -> list[Row]:
    """Read rows of all tenants, and in the same run how many shards there are."""
    rows, (state,) = await backends.database.run([statement, directory.COUNT_SHARDS])
    backends.shards_seen(directory.read_count(state))
    return rows


async def _unless_moved(work: Awaitable[T]) -> T | None:
    try:
        return await work
    except TenantMoved:  # the runtime of the tenant's shard does the work
        return None
