"""An import may be killed at any call it makes: nothing is left half done, and made again it ends the same."""

from collections.abc import Sequence

import pytest

from app.transfer.importer import Import
from app.transfer.intake import import_lines
from app.transfer.report import Report
from tests.simulation import clock
from tests.simulation.killer import KilledError, Killer
from tests.simulation.settled import flaws, left
from tests.simulation.weather import calm
from tests.simulation.world import Kind, Replica, world
from tests.transfer.corpus import file_of, in_chunks, numbered

_SEED = 1
_DATA = file_of([*numbered(230), *numbered(3, start=500, agent_id="other")])
_CALLS = {"database.run", "embedder.embed", "index.upsert"}


async def _bring(replica: Replica) -> dict[str, object]:
    report = Report()
    try:
        taking = Import("acme", replica.ports, report)
        await import_lines(in_chunks(_DATA), taking, "acme", report)
        return dict(report.summary)
    finally:
        report.close()


async def _live(kind: Kind, killer: Killer, *, again: bool) -> Sequence[str]:
    """Import with a victim that may be killed; have another process find everything as it must be."""
    async with world(kind, _SEED) as made:
        first = made.replica()
        await first.gateway("globex").erase("nobody")  # the database is in use
        made.replicas.clear()
        victim = made.replica(killer)
        try:
            await _bring(victim)
        except KilledError:
            assert killer.fired
        made.replicas.clear()
        successor = made.replica()
        successor.start()
        if again:
            summary = await _bring(successor)
            assert (summary["end"], summary["conflict"], summary["rejected"]) == ("holds", 0, 0)
        await calm(made)
        assert flaws(made) == []
        assert left(made) == []
        held = len(made.file.rows("SELECT id FROM long_term_memory"))
        assert held == 233 if again else held in {0, 200, 233}
    return killer.calls


@pytest.mark.parametrize("kind", ["late", "embedded"])
@pytest.mark.parametrize("again", [True, False])
def test_an_import_killed_at_any_call_loses_nothing_and_leaves_nothing_behind(kind: Kind, *, again: bool) -> None:
    calls = clock.run(_live(kind, Killer(), again=again))
    assert set(calls) >= _CALLS
    for number in range(1, len(calls) + 1):
        for after in (False, True):
            killer = Killer(number, after=after)
            clock.run(_live(kind, killer, again=again))
            assert killer.fired, (number, after)
