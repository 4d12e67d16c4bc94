"""A mover may die at any call, or stand still there while another one goes on: every answer stays true."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import pytest

from app.domain.errors import Conflict, InvalidRequest, Unavailable
from app.domain.shards import MAIN
from tests.simulation import clock
from tests.simulation.killer import KilledError
from tests.simulation.moves import (
    FATES,
    LEASED_SECONDS,
    TENANT,
    Fate,
    Interrupted,
    Step,
    check_moved,
    move,
    moved_by_all_means,
)
from tests.simulation.operations import Text
from tests.simulation.sharded import EAST, ShardedReplica, ShardedWorld, home_of, indexer_of, sharded_world
from tests.simulation.statements import STATED
from tests.simulation.workload import Agent
from tests.simulation.world import Kind
from tests.support import generation

_KINDS: Sequence[Kind] = ("late", "embedded")
_PARTS = 8 if generation.LONG else 4
"""So that several processes share the work."""
_OFTEN: tuple[Kind, int] = ("late", 0)
"""The part that is tried in every run, where the others are thorough."""
_OF_ONE_WORLD = 10
_MANY = 8
"""A place of the product that makes more calls than so many makes the same one for each table."""
_ROUNDS = 2
_ROUND_SECONDS = 150
_SAID = "said when the mover was dead"

Moment = tuple[Step, Fate]


async def _interrupted(made: ShardedWorld, agents: Sequence[Agent], mover: Interrupted, to: str) -> None:
    """Interrupt a mover while the tenant is used, look whether it is served, and let another one go on."""
    victim = await made.process(mover)
    mover.armed = True
    acting = [asyncio.create_task(agent.act(5)) for agent in agents for _ in range(2)]
    moving = asyncio.create_task(_moved_or_not(victim, to))
    if mover.fate != "stalled":
        await moving
        await asyncio.sleep(LEASED_SECONDS if mover.reached else 0)
        assert await agents[0].store(Text(_SAID)) is not None
        assert await agents[0].recall(_SAID) == "whole"
    else:
        await asyncio.sleep(LEASED_SECONDS)
    await moved_by_all_means(made, to)
    await asyncio.gather(moving, *acting)
    if mover.fate == "stalled":  # it may have been the one that went on
        await moved_by_all_means(made, to)
    for _ in range(_ROUNDS):
        for shard in (MAIN, EAST):
            await indexer_of(_first(made), shard).round()
        await asyncio.sleep(_ROUND_SECONDS)
    check_moved(made, to)


async def _moved_or_not(mover: ShardedReplica, to: str) -> None:
    """Move as a process does that may be killed, or find that another one moves the tenant or has done so."""
    with suppress(KilledError, Conflict, Unavailable, InvalidRequest):
        await move(mover, to)


async def _simulate(kind: Kind, movers: Sequence[Interrupted]) -> None:
    """Move a tenant to and fro, with a mover that is interrupted each time."""
    async with sharded_world(kind, 7) as made:
        made.replicas.extend([await made.process(), await made.process()])
        agents = [Agent(made, tenant, "bot") for tenant in (TENANT, "globex")]
        for agent in agents:
            for content in (*(f"note {number}" for number in range(5)), *list(STATED)[:3]):
                await agent.store(Text(content))
        home = await home_of(_first(made), TENANT)
        for mover in movers:
            home = EAST if home == MAIN else MAIN
            try:
                await _interrupted(made, agents, mover, home)
            except AssertionError as error:
                raise AssertionError(f"{mover.fate} {mover.at} on {kind}: {error}") from error
        for agent in agents:
            await agent.recall_all()


def _first(made: ShardedWorld) -> ShardedReplica:
    first = made.replicas[0]
    assert isinstance(first, ShardedReplica)
    return first


def _steps(kind: Kind) -> list[Step]:
    """Return all that a mover does whom nobody interrupts."""
    mover = Interrupted()
    clock.run(_simulate(kind, [mover]))
    return mover.steps


def _moments(kind: Kind, steps: Sequence[Step]) -> list[Moment]:
    """Return the moments that are tried with an index: together both have each moment of every call.

    After a call that changes nothing, all is as before it. A short run has each kind of call that changes something
    once.
    """
    changing, turn = [step for step in steps if step.changes], _KINDS.index(kind)
    if generation.LONG:
        ends: Sequence[Moment] = (
            [(step, "after") for step in changing] if turn else [(step, "before") for step in steps]
        )
        return [*ends, *((step, FATES[2]) for step in changing[turn :: len(_KINDS)])]
    calls = Counter(step.place for step in steps)
    kinds = [step for step in changing if calls[step.place] <= _MANY or step.nth == calls[step.place] // 2]
    return [(step, FATES[number % len(FATES)]) for number, step in enumerate(kinds)][turn :: len(_KINDS)]


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        pytest.param(kind, part, marks=[pytest.mark.thorough] * ((kind, part) != _OFTEN))
        for kind in _KINDS
        for part in range(_PARTS)
    ],
)
def test_a_mover_that_dies_or_lags_at_any_call_leaves_the_tenant_served_and_another_goes_on(
    kind: Kind, part: int
) -> None:
    steps = _steps(kind)
    assert len(steps) > 200
    movers = [Interrupted((step.place, step.nth), fate) for step, fate in _moments(kind, steps)[part::_PARTS]]
    for start in range(0, len(movers), _OF_ONE_WORLD):
        clock.run(_simulate(kind, movers[start : start + _OF_ONE_WORLD]))
    # A call that carries a change is not made where nothing changed meanwhile.
    assert sum(mover.reached for mover in movers) >= 0.8 * len(movers)
