"""A process may be killed at any moment of any call it makes: another one finishes what it began."""

from collections.abc import Sequence
from math import inf

import pytest

from app.indexing.jobs.backfill import backfill_claims
from tests.simulation import clock
from tests.simulation.acts import ACTS, Act
from tests.simulation.killer import KilledError, Killer, Made, Moment, moments
from tests.simulation.scenes import Scene, scene
from tests.simulation.settled import flaws
from tests.simulation.weather import calm, peace
from tests.simulation.world import Kind, World, world
from tests.support import generation

pytestmark = pytest.mark.thorough

_SEED = 1
_SOME = 1
_KINDS: Sequence[Kind] = ("late", "embedded")


async def _live(kind: Kind, act: Act, moment: Moment | None = None) -> list[Made]:
    """Live through an act with a victim that may be killed; return the calls it made."""
    async with world(kind, _SEED) as made:
        made.replica()
        played = scene(made)
        played.halved = moment is not None and 0 < moment.done < inf
        await act.prepare(played)
        made.replicas.clear()
        damage = flaws(made)
        killer = Killer(made.file, moment)
        victim = made.replica(killer)
        try:
            await act.run(played, victim)
            await victim.backends.deliveries.settle()
        except KilledError:
            assert killer.fired
        assert killer.fired == (moment is not None)
        made.replicas.clear()
        await _go_on(made, played, act, damage)
    return killer.calls


async def _go_on(made: World, played: Scene, act: Act, damage: set[tuple[str, str]]) -> None:
    """Have another process take over: what it does from its start on finishes all but what was damaged before."""
    successor = made.replica()
    successor.start()
    await backfill_claims(successor.backends.database)
    await peace(made)
    assert flaws(made) <= damage
    if damage:
        await successor.reconcile(repair=True)
        await calm(made)
    act.check(played)
    for agent in played.agents:
        await agent.recall_all()
    findings = await successor.reconcile(repair=False)
    assert (findings.missing, findings.orphans, findings.stale, findings.foreign) == (0, 0, 0, 0)
    assert (findings.hidden, findings.changed) == (0, 0)
    assert made.file.rows_of("reconcile") == made.file.rows_of("reconcile_listed") == []


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("name", ACTS)
def test_a_process_killed_at_any_call_loses_nothing_and_leaves_nothing_behind(name: str, kind: Kind) -> None:
    act = ACTS[name]
    calls = clock.run(_live(kind, act))
    assert act.calls <= {call.port for call in calls} <= act.calls | act.some
    every = list(moments(calls))
    # A short run has some moments of each act, others for each kind; ``make soak`` has all.
    begin, step = (0, 1) if generation.LONG else (_KINDS.index(kind), max(len(_KINDS), len(every) // _SOME))
    for moment in every[begin::step]:
        try:
            made = clock.run(_live(kind, act, moment))
        except AssertionError as error:
            place = calls[moment.number - 1].place
            raise AssertionError(f"{name} on {kind}, killed {moment} ({place}): {error}") from error
        assert [call.place for call in made] == [call.place for call in calls[: moment.number]]


def test_every_part_that_writes_is_among_those_that_are_killed() -> None:
    seen = {call.place.partition(".")[0] for act in ACTS.values() for call in clock.run(_live("late", act))}
    assert seen >= {"Writer", "LongTermMemoryGateway", "AgentDatabase", "Indexer", "Eraser", "Reconcile"}, seen
