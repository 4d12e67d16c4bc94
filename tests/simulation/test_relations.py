"""Relations and keys follow from the memories that are there: whatever is stored, deleted, undone, and killed."""

from math import inf

import pytest

from app.domain.author import Author
from app.domain.errors import MemoryGatewayError
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.undo import Undo
from tests.simulation import clock
from tests.simulation.killer import KilledError, Killer, Made, Moment, moments
from tests.simulation.relations import MOST, KnowingReader, misrelated, waiting
from tests.simulation.statements import FACTS, MEANT, MOMENTS
from tests.simulation.weather import peace
from tests.simulation.world import Kind, Replica, World, world
from tests.support import generation
from tests.support.gateways import ADMINISTRATOR
from tests.support.tables import ANY

_AGENTS = (("acme", "bot"), ("acme", "other"), ("globex", "bot"))
_STEPS = 30
_OF_A_FACT = "user lives in - Rome"


async def store(replica: Replica, tenant: str, agent: str, content: str, at: int | None, author: Author) -> None:
    gateway = LongTermMemoryGateway(replica.backends.of_tenant(tenant, author))
    metadata = FACTS[content].metadata if content in FACTS else {}
    await gateway.store(agent, NewMemory(content, metadata, None, at))
    await replica.backends.deliveries.settle()


async def found(replica: Replica, tenant: str, agent: str, content: str) -> list[str]:
    recall = await replica.gateway(tenant).recall(agent, Query(content, top_k=20))
    return [entry.content for entry in recall.entries]


def memories(made: World, tenant: str, agent: str) -> list[str]:
    return made.file.column_of("long_term_memory", "id", by="id", tenant_id=tenant, agent_id=agent)


async def _act(  # noqa: C901 - one branch for each thing that agents do
    made: World, replica: Replica, number: int
) -> None:
    """Do something by chance: most often store a statement."""
    dice = made.random
    tenant, agent = dice.choice(_AGENTS)
    ids = memories(made, tenant, agent)
    what = dice.choices(("store", "delete", "undo", "compare", "forget"), (10, 3, 1, 4, 1))[0]
    if what == "delete" or len(ids) >= MOST:
        if ids:
            await replica.gateway(tenant).delete(agent, dice.choice(ids))
    elif what == "store":
        at = dice.choice((None, *MOMENTS[:3]))
        await store(replica, tenant, agent, dice.choice(list(MEANT)), at, ADMINISTRATOR)
    elif what == "undo":
        author = Author(f"credential-{number}", "http")
        for content in dice.sample(list(MEANT), 2):
            if len(memories(made, tenant, agent)) < MOST:
                await store(replica, tenant, agent, content, None, author)
        if dice.random() < 0.5:
            await replica.compare()
        await Undo(replica.backends.of_tenant(tenant, ADMINISTRATOR)).run(f"credential-{number}")
    elif what == "forget" and ids:
        try:
            await replica.profile(tenant).forget(agent, dice.choice(ids))
        except MemoryGatewayError:
            return  # what is superseded cannot be forgotten
    elif what == "compare":
        await replica.compare()


async def _live(kind: Kind, seed: int) -> tuple[int, int]:
    """Return how many relations there are at the end, and how many claims of facts that another fact has replaced."""
    async with world(kind, seed) as made:
        made.reader = KnowingReader()
        replica = made.replica()
        replica.start()
        for number in range(_STEPS):
            await _act(made, replica, number)
            assert misrelated(made) == set()
        await peace(made)
        await replica.compare()
        assert misrelated(made) == set()
        assert waiting(made) == 0
        replaced = [key for key in made.file.column_of("claim", "key", superseded_by=ANY) if not key.startswith("~")]
        return len(made.file.rows_of("relation")), len(replaced)


@pytest.mark.parametrize("kind", ["late", "embedded"])
def test_relations_and_keys_follow_from_the_memories_that_are_there(kind: Kind) -> None:
    counts = [clock.run(_live(kind, seed)) for seed in range(8 if generation.LONG else 3)]
    assert all(sum(of_all) > 0 for of_all in zip(*counts, strict=True))


async def _compare_killed(kind: Kind, moment: Moment | None = None) -> list[Made]:
    """Store corrections, and compare them in a process that is killed; another one goes on."""
    async with world(kind, 1) as made:
        made.reader = KnowingReader()
        first = made.replica()
        for tenant, agent in _AGENTS:
            for content in (_OF_A_FACT, "I live in Rome", "We use pnpm", "I moved to Oslo"):
                await store(first, tenant, agent, content, None, ADMINISTRATOR)
        made.replicas.clear()
        killer = Killer(made.file, moment)
        victim = made.replica(killer)
        try:
            await store(victim, "acme", "bot", "We switched to yarn", None, ADMINISTRATOR)
            await victim.compare()
        except KilledError:
            assert killer.fired
        made.replicas.clear()
        assert misrelated(made) == set() or 0 < (inf if moment is None else moment.done) < inf
        successor = made.replica()
        successor.start()
        await peace(made)
        before = await found(successor, "acme", "bot", "I live in Rome")
        assert "I moved to Oslo" in before
        assert not {"I live in Rome", _OF_A_FACT} & set(before)
        await successor.compare()
        assert misrelated(made) == set()
        assert waiting(made) == 0
        assert "I live in Rome" not in await found(successor, "globex", "bot", "I live in Rome")
    return killer.calls


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["late", "embedded"])
def test_a_process_killed_between_a_store_and_its_comparison_loses_nothing(kind: Kind) -> None:
    calls = clock.run(_compare_killed(kind))
    assert {call.port for call in calls} >= {"embedder.embed", "database.run", "index.query"}
    every = list(moments(calls))
    for moment in every if generation.LONG else every[:: max(1, len(every) // 6)]:
        clock.run(_compare_killed(kind, moment))
