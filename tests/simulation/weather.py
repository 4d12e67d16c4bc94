"""What happens to the replicas meanwhile: the index goes away, processes are killed and others take their place."""

import asyncio

from app.errors import Conflict, Unavailable
from tests.simulation.history import ViolationError
from tests.simulation.index import LateIndex
from tests.simulation.network import SOUND, Rates
from tests.simulation.settled import flaws, left
from tests.simulation.world import World

QUIET_SECONDS = 20 * 60.0
_CALM_SECONDS = 60.0
_OUTAGE_SECONDS = (20.0, 150.0)
_STALL_SECONDS = (60.0, 400.0)
_LOOKS_SECONDS = 30.0


async def storm(world: World) -> None:
    """Make calls fail, and now and then a whole part, until cancelled."""
    world.network.rates = Rates()
    events = (_outage, _replace, _stall, _reconcile)
    try:
        while True:
            await asyncio.sleep(world.random.expovariate(1 / _CALM_SECONDS))
            await world.random.choice(events)(world)
    finally:
        world.network.rates = SOUND
        world.network.down.clear()
        if isinstance(world.index, LateIndex):
            world.index.stall(0)


async def watch(world: World) -> None:
    """Check again and again that nothing is lost, not even for a moment."""
    while True:
        await asyncio.sleep(_LOOKS_SECONDS)
        check_nothing_is_lost(world)


async def calm(world: World) -> None:
    """Let the replicas work in peace, then check that nothing is left to do."""
    await world.network.settled()
    await asyncio.sleep(QUIET_SECONDS)
    check_nothing_is_lost(world)
    if left(world):
        raise ViolationError(f"after {QUIET_SECONDS} s of peace the outbox still holds {left(world)}")


def check_nothing_is_lost(world: World) -> None:
    if found := flaws(world):
        ids = [word.strip("'[],") for flaw in found for word in flaw.split()[1:]]
        raise ViolationError(f"{found}\n{world.trace.about(*ids)}")


async def _outage(world: World) -> None:
    world.trace.note("the index goes away")
    world.counts["outages"] += 1
    world.network.down.add("index")
    await asyncio.sleep(world.random.uniform(*_OUTAGE_SECONDS))
    world.network.down.clear()
    world.trace.note("the index is back")


async def _replace(world: World) -> None:
    """Kill a process between two calls: what it had in memory is lost."""
    old = world.replicas.pop(0)
    world.trace.note("killed", old.name)
    world.counts["killed"] += 1
    await old.stop()
    world.replica().start()


async def _stall(world: World) -> None:
    """Let the index fall behind: it takes everything and shows nothing new."""
    if isinstance(world.index, LateIndex):
        world.trace.note("the index stalls")
        world.counts["stalls"] += 1
        seconds = world.random.uniform(*_STALL_SECONDS)
        world.index.stall(seconds)
        await asyncio.sleep(seconds)


async def _reconcile(world: World) -> None:
    """Compare the index with the database while everything moves; what fails goes on another time."""
    try:
        findings = await world.replicas[0].reconcile(repair=world.random.random() < 0.5)
    except (Unavailable, Conflict) as error:
        world.counts[f"reconcile {error.code}"] += 1
        return
    world.trace.note("reconciled", findings)
    world.counts["reconciled"] += 1
    for kind in ("missing", "orphans", "repaired"):
        world.counts[f"reconcile {kind}"] += getattr(findings, kind)
