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
from tests.simulation.resting import KEEPER, check_kept, fill, resting
from tests.simulation.sharded import EAST, ShardedReplica, ShardedWorld, home_of, indexer_of, sharded_world
from tests.simulation.statements import TOLD
from tests.simulation.workload import Agent
from tests.simulation.world import Kind
from tests.support import generation

_KINDS: Sequence[Kind] = ("late", "embedded")
_PARTS = 8 if generation.LONG else 4
"""So that several processes share the work."""
_KILLED_PARTS = 8 if generation.LONG else 2
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
    before = await resting(made, MAIN if to == EAST else EAST)
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
        while not (mover.reached or moving.done()):
            await asyncio.sleep(1)
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
    check_kept(before, await resting(made, to))


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
            for content in (*(f"note {number}" for number in range(5)), *list(TOLD)[:3]):
                await agent.store(Text(content))
        keeper = Agent(made, TENANT, KEEPER)
        await fill(made, keeper)
        home = await home_of(_first(made), TENANT)
        for mover in movers:
            home = EAST if home == MAIN else MAIN
            try:
                await _interrupted(made, agents, mover, home)
            except AssertionError as error:
                raise AssertionError(f"{mover.fate} {mover.at} on {kind}: {error}") from error
        for agent in (*agents, keeper):
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
    """Return the moments that are tried with an index, beside the ends of every call that changes something.

    Together both have a halt of each of those, and the end before each other call: after it all is as before it. A
    short run has each kind of call that changes something once.
    """
    changing, turn = [step for step in steps if step.changes], _KINDS.index(kind)
    if generation.LONG:
        others = [] if turn else [step for step in steps if not step.changes]
        return [*((step, FATES[0]) for step in others), *((step, FATES[2]) for step in changing[turn :: len(_KINDS)])]
    calls = Counter(step.place for step in steps)
    kinds = [step for step in changing if calls[step.place] <= _MANY or step.nth == calls[step.place] // 2]
    return [(step, FATES[number % len(FATES)]) for number, step in enumerate(kinds)][turn :: len(_KINDS)]


def _try(kind: Kind, moments: Sequence[Moment]) -> None:
    """Interrupt a mover at each of these moments, several of them in one world."""
    for start in range(0, len(moments), _OF_ONE_WORLD):
        movers = [Interrupted((step.place, step.nth), fate) for step, fate in moments[start : start + _OF_ONE_WORLD]]
        clock.run(_simulate(kind, movers))
        # A call that carries a change is not made where nothing changed meanwhile: in a world of its own it is.
        for mover in [Interrupted(mover.at, mover.fate) for mover in movers if not mover.reached]:
            clock.run(_simulate(kind, [mover]))
            assert mover.reached, f"{mover.fate} {mover.at} on {kind}"


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
    _try(kind, _moments(kind, steps)[part::_PARTS])


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(_KILLED_PARTS))
@pytest.mark.parametrize("kind", _KINDS if generation.LONG else _KINDS[:1])
def test_a_mover_killed_before_or_after_any_change_that_it_makes_loses_and_doubles_nothing(
    kind: Kind, part: int
) -> None:
    changes = [step for step in _steps(kind) if step.changes]
    assert len(changes) > 100
    ends: Sequence[Fate] = ("before", "after")
    moments = [(step, fate) for step in changes for fate in ends][:: 1 if generation.LONG else 19]
    _try(kind, moments[part::_KILLED_PARTS])
