"""A newer version migrates the database under the others: they go on, or stop by themselves, and nothing is lost."""

import asyncio
from http import HTTPStatus

import pytest

from app.domain.errors import Unavailable
from app.domain.memory import NewMemory
from app.domain.messages import NewMessage
from app.runtime.background import Pace
from tests.simulation import clock
from tests.simulation.killer import KilledError
from tests.simulation.network import SOUND, Rates
from tests.simulation.versions import FIRST, SECOND, THIRD, VersionedWorld, kill_some, versioned_world
from tests.simulation.weather import beside, calm, watch
from tests.simulation.workload import Agent
from tests.support import generation

_SEEDS = range(20 if generation.LONG else 1)
_AGENTS = ("bot-1", "bot-2", "bot-3")
_OPERATIONS = 90
_TALKER = "talker"
_TALKS_SECONDS = 8.0
_TURNS = 6
_MINUTE = Pace().schema_seconds + 2.0
"""Between two looks at the version, and what a call takes."""
_UPGRADED_SECONDS = 150.0
_LEAST_KILLED = 5


@pytest.mark.thorough
@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("seed", _SEEDS)
def test_while_newer_replicas_migrate_the_schema_nothing_is_lost_and_the_old_ones_go_on_or_stop(
    seed: int, *, breaks: bool
) -> None:
    async def live() -> None:
        async with versioned_world(seed, breaks=breaks) as made:
            agents = [Agent(made, "acme", name) for name in _AGENTS]
            said: list[str] = []
            made.want(FIRST, FIRST)
            await made.ready(FIRST)
            callers = [agent.act(_OPERATIONS) for agent in agents]
            await beside([watch(made), kill_some(made), _talk(made, said)], [_upgrade(made), *callers])
            for gone in made.of(FIRST):
                await gone.stop()
                made.replicas.remove(gone)
            await _ends(made, agents, said)
            assert made.counts["killed"] > _LEAST_KILLED
            assert any(what.endswith((" schema_too_new", " unavailable")) for what in made.counts)

    clock.run(live())


async def _upgrade(made: VersionedWorld) -> None:
    """Add a replica of each newer version, while calls fail, but for the minute in which the old ones have to stop."""
    made.network.rates = Rates()
    await asyncio.sleep(_UPGRADED_SECONDS / 2)
    made.want(FIRST, FIRST, SECOND)
    await made.ready(SECOND)
    await asyncio.sleep(_UPGRADED_SECONDS)
    assert not any(replica.is_too_old for replica in made.served), "the first version may run beside what expands"
    await made.ready(FIRST)
    made.network.rates = SOUND
    made.want(FIRST, FIRST, SECOND, THIRD)
    await made.ready(THIRD)
    told = made.of(FIRST)
    await asyncio.sleep(_MINUTE)
    assert all(replica.is_too_old for replica in told if not replica.life.over), "told within its minute"
    made.network.rates = Rates()
    await asyncio.sleep(_UPGRADED_SECONDS)
    made.network.rates = SOUND
    await asyncio.sleep(_MINUTE)  # one that began while nobody answered tries again until then
    await made.ready(SECOND)
    await made.ready(THIRD)
    for replica in made.of(FIRST):
        with pytest.raises(Unavailable) as refused:
            await replica.gateway("acme").store("other", NewMemory("too late"))
        assert refused.value.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert not any(replica.is_too_old for replica in (*made.of(SECOND), *made.of(THIRD)))


async def _talk(made: VersionedWorld, said: list[str]) -> None:
    """Bring conversations; what was accepted is in ``said``."""
    while True:
        await asyncio.sleep(made.random.expovariate(1 / _TALKS_SECONDS))
        number = made.next_number()
        turns = [f"turn {turn} of talk {number}" for turn in range(_TURNS)]
        replica = made.random.choice(made.served)
        messages = [NewMessage("user", turn, clock.now_ms()) for turn in turns]
        try:
            await replica.ingester("acme").ingest(_TALKER, messages, f"talk-{number}")
        except (Unavailable, KilledError) as error:
            made.counts["talk killed"] += isinstance(error, KilledError)
            continue
        said.extend(turns)


async def _ends(made: VersionedWorld, agents: list[Agent], said: list[str]) -> None:
    """Find all that was acknowledged, through the versions that may go on."""
    await calm(made)
    assert [replica.runtime.not_ready for replica in made.served] == [None, None]
    for agent in agents:
        await agent.recall_all()
    there = {*made.file.column_of("long_term_memory", "content", agent_id=_TALKER)}
    assert said
    assert set(said) <= there
    left = [*made.file.rows_of("message"), *made.file.rows_of("ingestion", finished_at=None)]
    assert not left, "what a killed process had taken in, another one writes"
