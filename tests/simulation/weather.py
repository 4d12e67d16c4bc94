"""What happens to the replicas meanwhile: the index goes away, processes are killed and others take their place."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from app.domain.errors import Conflict, Unavailable
from tests.simulation.index import LateIndex
from tests.simulation.network import SOUND, Rates
from tests.simulation.operations import ViolationError
from tests.simulation.settled import flaws, left
from tests.simulation.world import World

QUIET_SECONDS = 20 * 60.0
_CALM_SECONDS = 60.0
_OUTAGE_SECONDS: Mapping[str, tuple[float, float]] = {
    "index": (20.0, 150.0),
    "database": (5.0, 20.0),
    "embedder": (5.0, 20.0),
}
_HANGS = ("index", "index.query", "index.upsert", "embedder", "database")
_HANG_SECONDS = (20.0, 120.0)
_STALL_SECONDS = (60.0, 400.0)
_BEHIND_SECONDS = 600.0
"""At most: it does not catch up, and what is left to do has to be done in the quiet."""
_LOOKS_SECONDS = 30.0
_LOSES = 0.02


async def beside(background: Sequence[Coroutine[Any, Any, None]], callers: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Let callers act to their end beside what goes on without one, and raise what any of all raises."""
    others, waited = [{asyncio.create_task(each) for each in some} for some in (background, callers)]
    try:
        pending = others | waited
        while pending & waited:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in others | waited:
            task.cancel()
        await asyncio.gather(*others, *waited, return_exceptions=True)


async def storm(world: World) -> None:
    """Make calls fail, and now and then a whole part, until cancelled."""
    world.network.rates = Rates()
    if isinstance(world.index, LateIndex):
        world.index.loses = _LOSES
    events = (_outage, _replace, _stall, _reconcile, _hang)
    weights = (3, 4, 1, 2, 3)
    try:
        while True:
            await asyncio.sleep(world.random.expovariate(1 / _CALM_SECONDS))
            (event,) = world.random.choices(events, weights)
            await event(world)
    finally:
        world.network.rates = SOUND
        world.network.down.clear()
        world.network.hanging.clear()
        if isinstance(world.index, LateIndex):
            world.index.stall(0)
            world.index.loses = 0.0


async def watch(world: World) -> None:
    """Check again and again that nothing is lost, not even for a moment."""
    while True:
        await asyncio.sleep(_LOOKS_SECONDS)
        check_nothing_is_lost(world)


async def calm(world: World) -> None:
    """Let the replicas work in peace, then check that nothing is left to do."""
    await peace(world)
    check_nothing_is_lost(world)


async def peace(world: World) -> None:
    """Let the replicas work in peace, then check that they have done all they know of."""
    await world.network.settled()
    await asyncio.sleep(QUIET_SECONDS)
    if left(world):
        raise ViolationError(f"after {QUIET_SECONDS} s of peace the outbox still holds {left(world)}")


def check_nothing_is_lost(world: World) -> None:
    if found := flaws(world):
        raise ViolationError(f"{sorted(found)}\n{world.trace.about(*(id_ for _, id_ in found))}")


async def _outage(world: World) -> None:
    """Let one of the ports refuse every call: most often the index, without which the service is to go on."""
    (port,) = world.random.choices(list(_OUTAGE_SECONDS), (4, 1, 1))
    world.trace.note("goes away", port)
    world.counts[f"{port} away"] += 1
    world.network.down.add(port)
    await asyncio.sleep(world.random.uniform(*_OUTAGE_SECONDS[port]))
    world.network.down.clear()
    world.trace.note("is back", port)


async def _hang(world: World) -> None:
    """Let a part answer nothing for a while, so that circuits open, and are half open when it answers again."""
    part = world.random.choice(_HANGS)
    world.trace.note("hangs", part)
    world.counts["hangs"] += 1
    world.network.hanging.add(part)
    await asyncio.sleep(world.random.uniform(*_HANG_SECONDS))
    world.network.hanging.clear()
    world.trace.note("answers", part)


async def _replace(world: World) -> None:
    """Kill a process between two calls: what it had in memory is lost."""
    old = world.replicas.pop(0)
    world.trace.note("killed", old.name)
    world.counts["killed"] += 1
    await old.stop()
    world.replica().start()


async def _stall(world: World) -> None:
    """Let the index fall behind: it takes everything and shows nothing new."""
    seconds = world.random.uniform(*_STALL_SECONDS)
    if isinstance(world.index, LateIndex) and world.index.behind_seconds + seconds < _BEHIND_SECONDS:
        world.trace.note("the index stalls")
        world.counts["stalls"] += 1
        world.index.stall(seconds)


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
