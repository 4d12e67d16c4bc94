"""Erasures end soon, whatever a lease says that a clock which was ahead or a process that crashed has left."""

import asyncio

import pytest

from app.domain.memory import NewMemory
from tests.simulation import clock
from tests.simulation.weather import calm
from tests.simulation.world import Kind, Replica, World, world
from tests.support import generation

_DAY_MS = 86_400_000
_SEEDS = range(0, 30 if generation.LONG else 6, 3)
"""Of worlds in which an indexer pauses for a second."""
_SOON = 60.0
_CONFIRMED: dict[Kind, float] = {"embedded": 0.0, "late": 15 * 60.0}
"""How long an index may need until it shows that vectors are gone."""


async def _store(replica: Replica, agent: str, memories: int = 5) -> None:
    for number in range(memories):
        await replica.gateway("acme").store(agent, NewMemory(f"memory {number}"))


async def _erased(made: World, agent: str, replica: Replica) -> float:
    """Erase an agent, and return how long that takes until the receipt."""
    began = clock.now()
    gateway = replica.gateway("acme")
    erasure = await gateway.erase(agent)
    while (await gateway.erasure(erasure.id)).receipt is None:
        assert clock.now() - began < 3600, "the erasure stands still"
        await asyncio.sleep(1)
    assert made.file.rows_of("long_term_memory", agent_id=agent) == []
    return clock.now() - began


def _holder(made: World) -> str | None:
    holders = made.file.column_of("lease", "holder", name="indexer")
    return holders[0] if holders else None


@pytest.mark.parametrize("kind", ["embedded", "late"])
@pytest.mark.parametrize("seed", _SEEDS)
def test_erasures_end_soon_after_a_clock_that_was_a_day_ahead(kind: Kind, seed: int) -> None:
    async def live() -> None:
        async with world(kind, seed) as made:
            ahead, other = made.replica(), made.replica()
            await _store(ahead, "before")
            made.file.ahead_ms = _DAY_MS
            ahead.start()
            await _store(ahead, "meanwhile")
            begun = await ahead.gateway("acme").erase("meanwhile")
            while _holder(made) != ahead.name:
                await asyncio.sleep(0.1)
            await ahead.stop()
            made.replicas.remove(ahead)
            made.file.ahead_ms = 0
            other.start()
            assert await _erased(made, "before", other) < _SOON + _CONFIRMED[kind]
            assert (await other.gateway("acme").erasure(begun.id)).receipt is not None
            await calm(made)

    clock.run(live())


@pytest.mark.parametrize("seed", _SEEDS)
def test_erasures_end_soon_beside_replicas_that_crash_with_the_lease(seed: int) -> None:
    async def live() -> None:
        async with world("embedded", seed) as made:
            first = made.replica()
            await _store(first, "bot")
            erasing = asyncio.create_task(_erased(made, "bot", first))
            for _ in range(2):
                crashing = made.replica()
                crashing.start()
                while _holder(made) != crashing.name and not erasing.done():
                    await asyncio.sleep(0.01)
                await crashing.stop()
                made.replicas.remove(crashing)
            last = made.replica()
            last.start()
            assert await erasing < _SOON
            await calm(made)

    clock.run(live())
