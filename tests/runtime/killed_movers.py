"""A mover that is killed before or after one of its calls, over whatever databases a service has."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pytest

from app.domain.errors import InvalidRequest
from app.domain.shards import MAIN, Shard
from app.runtime.moving import move_tenant
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from tests.runtime.test_moving import everything, moved
from tests.simulation.intercept import Effect, InterceptedDatabase, PortCall
from tests.simulation.killer import KilledError
from tests.simulation.places import seen
from tests.support.service import Service

T = TypeVar("T")

EAST = "east"
STEPS: Mapping[str, tuple[str, int]] = {
    "a page is copied": ("Carrier._run", 4),
    "changes were carried": ("Carrier.catch_up", 2),
    "a table is compared": ("Carrier.compare", 5),
    "the fence is set": ("Move._switched", 1),
    "the target is ready": ("Move._switched", 2),
    "the source lets go": ("Move._switched", 3),
    "the directory is told": ("Move._run", 1),
    "rows are dropped": ("Leftovers.drop_rows", 2),
    "the move ends": ("Leftovers.drop", 4),
}
"""Steps of a move, and the call of each: the n-th that is made from a place of the product."""
_DECIDING = ("the fence is set", "the target is ready", "the source lets go")
MOMENTS: Sequence[tuple[str, bool]] = [
    *((step, number % 2 == 1) for number, step in enumerate(STEPS)),
    *((step, number % 2 == 0) for number, step in enumerate(STEPS) if step in _DECIDING),
]
"""A step, and whether the mover is killed after its call; before it otherwise."""


@dataclass(slots=True)
class Killed:
    """Ends a mover before or after a call, and has something happen when the rows are copied."""

    at: tuple[str, int]
    after: bool
    copied: Callable[[], Awaitable[object]]
    dead: bool = False
    _made: Counter[str] = field(default_factory=Counter)

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        del call
        if self.dead:
            raise KilledError
        place = seen()
        self._made[place] += 1
        if (place, self._made[place]) == ("Carrier.catch_up", 1):
            await self.copied()
        if (place, self._made[place]) != self.at:
            return await effect()
        if self.after:
            await effect()
        self.dead = True
        raise KilledError


async def check_killed(service: Service, tenant: str, agent: str, step: str, *, after: bool) -> None:
    """Kill a mover at a step, use the tenant, and let another mover go on: every row is there once, and as it was.

    The tenant is used while the mover is at work, too.
    """
    said = f"{step} {'after' if after else 'before'}"

    async def use(when: str) -> None:
        await service.store(f"{said}: {when}", tenant=tenant, agent_id=agent)
        assert f"{said}: {when}" in await service.contents(f"{said}: {when}", tenant=tenant, agent_id=agent)

    home = (await service.shards.of(tenant)).backends.shard
    to = EAST if home == MAIN else MAIN
    mover = Killed(STEPS[step], after, lambda: use("copied"))
    shards = await _process(service.shards, mover)
    with pytest.raises(KilledError):
        await move_tenant(shards, tenant, to, lambda _: None, poll_seconds=0, linger_seconds=0)
    service.later(60)
    await use("killed")
    before = await everything((await service.shards.of(tenant)).backends.database, tenant)
    with suppress(InvalidRequest):  # the one that was killed had done all
        await moved(service, tenant, to)
    databases = {name: runtime.backends.database for name, runtime in service.shards.runtimes.items()}
    assert await everything(databases[to], tenant) == before
    assert not any((await everything(databases[home], tenant)).values())
    await use("moved")


async def _process(shards: Shards, mover: Killed) -> Shards:
    """Return the shards of a process that makes its calls of the databases through ``mover``."""

    def runtime(of: Runtime) -> Runtime:
        backends = replace(of.backends, database=InterceptedDatabase(of.backends.database, mover))
        return Runtime(backends, of.credentials, of.metrics, name="mover", prepare_index=of.prepare_index)

    def open_shard(shard: Shard) -> Runtime:
        return runtime(shards.runtimes[shard.name])

    process = Shards(runtime(shards.main), shards.places, open_shard)
    await process.prepare()
    return process
