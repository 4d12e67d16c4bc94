"""An import may be killed at any call it makes: nothing is left half done, and made again it ends the same."""

from math import inf

import pytest

from app.services.transfer.importer import Import
from app.services.transfer.intake import import_lines
from app.services.transfer.report import ImportReport
from tests.services.transfer.corpus import file_of, in_chunks, numbered
from tests.simulation import clock
from tests.simulation.killer import KilledError, Killer, Made, Moment, moments
from tests.simulation.settled import flaws, left
from tests.simulation.weather import calm
from tests.simulation.world import Kind, Replica, world
from tests.support import generation

pytestmark = pytest.mark.thorough

_SEED = 1
_DATA = file_of([*numbered(230), *numbered(3, start=500, agent_id="other")])
_CALLS = {"database.run", "embedder.embed", "index.upsert"}


async def _bring(replica: Replica) -> dict[str, object]:
    report = ImportReport()
    try:
        taking = Import(replica.backends.of_tenant("acme"), report)
        await import_lines(in_chunks(_DATA), taking, report)
        return dict(report.summary)
    finally:
        report.close()


async def _live(kind: Kind, moment: Moment | None, *, again: bool) -> list[Made]:
    """Import with a victim that may be killed; have another process find everything as it must be."""
    async with world(kind, _SEED) as made:
        first = made.replica()
        await first.gateway("globex").erase("nobody")  # the database is in use
        made.replicas.clear()
        killer = Killer(made.file, moment)
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
        assert flaws(made) == set()
        assert left(made) == []
        held = len(made.file.rows_of("long_term_memory", "id"))
        assert held == 233 if again else held in {0, 200, 233}
    return killer.calls


@pytest.mark.parametrize("kind", ["late", "embedded"])
@pytest.mark.parametrize("again", [True, False])
def test_an_import_killed_at_any_call_loses_nothing_and_leaves_nothing_behind(kind: Kind, *, again: bool) -> None:
    calls = clock.run(_live(kind, None, again=again))
    assert {call.port for call in calls} >= _CALLS
    last_calls = set()
    for moment in moments(calls):
        # A short run kills before some calls and after others; ``make soak`` kills at every moment.
        if generation.LONG or (moment.number % 7, moment.done) in {(1, inf), (4, 0)}:
            made = clock.run(_live(kind, moment, again=again))
            last_calls.add(made[-1].port)  # calls overlap: of two begun together only one can be the n-th
    assert last_calls >= _CALLS
