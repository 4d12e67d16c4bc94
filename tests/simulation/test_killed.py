"""A process may be killed at any call it makes: another one finishes what it began."""

from collections.abc import Sequence

import pytest

from tests.simulation import clock
from tests.simulation.killer import KilledError, Killer
from tests.simulation.scenes import ACTS, Act, Scene, scene
from tests.simulation.weather import calm
from tests.simulation.world import Kind, World, world

_SEED = 1


async def _live(kind: Kind, act: Act, killer: Killer) -> Sequence[str]:
    """Live through an act with a victim that may be killed; return the calls it made."""
    async with world(kind, _SEED) as made:
        made.replica()
        played = scene(made)
        await act.prepare(played)
        made.replicas.clear()
        victim = made.replica(killer)
        try:
            await act.run(played, victim)
        except KilledError:
            assert killer.fired
        made.replicas.clear()
        await _go_on(made, played, act)
    return killer.calls


async def _go_on(made: World, played: Scene, act: Act) -> None:
    """Have another process take over, and find everything as it must be."""
    successor = made.replica()
    successor.start()
    if act.finish is not None:
        await act.finish(successor)
    await calm(made)
    act.check(played)
    for agent in played.agents:
        await agent.recall_all()
    findings = await successor.reconcile(repair=False)
    assert (findings.missing, findings.orphans, findings.stale, findings.foreign) == (0, 0, 0, 0)
    assert not made.file.rows("SELECT 1 FROM reconcile UNION SELECT 1 FROM reconcile_listed")


@pytest.mark.parametrize("kind", ["late", "embedded"])
@pytest.mark.parametrize("name", ACTS)
def test_a_process_killed_at_any_call_loses_nothing_and_leaves_nothing_behind(name: str, kind: Kind) -> None:
    act = ACTS[name]
    calls = clock.run(_live(kind, act, Killer()))
    assert act.calls <= set(calls)
    for number in range(1, len(calls) + 1):
        for after in (False, True):
            killer = Killer(number, after=after)
            try:
                clock.run(_live(kind, act, killer))
            except AssertionError as error:
                when = "after" if after else "before"
                raise AssertionError(
                    f"{name} on {kind}, killed {when} call {number} ({calls[number - 1]}): {error}"
                ) from error
            assert killer.fired
            assert killer.calls == list(calls[:number])
