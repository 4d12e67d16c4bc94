"""A part fails for long: nobody is told what is not so, and without the index stores and recalls go on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from http import HTTPStatus

import pytest

from app.adapters.breaker import PAUSE_SECONDS, TIME_OUTS
from app.domain.errors import Unavailable
from app.domain.memory import NewMemory
from app.domain.query import RECALL_PART_SECONDS, Filter, Query
from tests.simulation import clock
from tests.simulation.operations import Text
from tests.simulation.settled import shown
from tests.simulation.weather import calm
from tests.simulation.workload import Agent
from tests.simulation.world import Kind, World, world
from tests.support import generation

KINDS: list[Kind] = ["late", "embedded"]
_AGENTS, _REPLICAS = 8, 2
_UPSERTS = 1000 if generation.LONG else 24
_NOTES = 100 if generation.LONG else 12
_HUNG = 100 if generation.LONG else 40


@asynccontextmanager
async def _agents(kind: Kind) -> AsyncIterator[tuple[World, list[Agent]]]:
    """Two replicas at work, without faults, and some agents."""
    async with world(kind, 1) as made:
        for _ in range(_REPLICAS):
            made.replica().start()
        yield made, [Agent(made, "acme", f"bot-{n}") for n in range(_AGENTS)]


@pytest.mark.parametrize("kind", KINDS)
def test_failed_upserts_in_a_row_lose_nothing_and_all_stay_found(kind: Kind) -> None:
    async def scenario() -> None:
        async with _agents(kind) as (made, agents):
            made.network.down.add("index.upsert")
            for n in range(_UPSERTS):
                agent = agents[n % _AGENTS]
                assert await agent.store(Text(f"note {n}"))
            for agent in agents:
                await agent.recall_all()
            made.network.down.clear()
            await calm(made)
            for agent in agents:
                await agent.recall_all()

    clock.run(scenario())


@pytest.mark.parametrize("kind", KINDS)
def test_while_the_index_is_away_stores_go_on_and_recalls_find_them_and_say_so(kind: Kind) -> None:
    async def scenario() -> None:
        async with _agents(kind) as (made, (agent, *_)):
            await agent.store(Text("known to the index"))
            await calm(made)
            made.network.down.add("index")
            for n in range(_NOTES):
                assert await agent.store(Text(f"note {n}"))
                assert await agent.recall(f"note {n}") == "index_unavailable"
            await agent.delete(agent.history.existing()[-1])
            assert await agent.recall(f"note {_NOTES - 1}") == "index_unavailable"
            await asyncio.sleep(600)
            for n in range(_NOTES - 1):
                assert await agent.recall(f"note {n}") == "index_unavailable"
            made.network.down.clear()
            await calm(made)
            await agent.recall_all()

    clock.run(scenario())


def test_while_the_index_hangs_few_recalls_wait_for_it_and_all_find_what_is_stored() -> None:
    """The first three of a replica wait for their deadline, and then one after each pause of its circuit."""

    async def scenario() -> None:
        async with _agents("late") as (made, (agent, *_)):
            await agent.store(Text("known to the index"))
            await calm(made)
            made.network.hanging.add("index")
            took, hung_at = [], clock.now()
            for n in range(_HUNG):
                assert await agent.store(Text(f"note {n}"))
                began = clock.now()
                assert await agent.recall(f"note {n}") == "index_unavailable"
                took.append(clock.now() - began)
            waited = [seconds for seconds in took if seconds >= RECALL_PART_SECONDS]
            of_each_replica = TIME_OUTS + (clock.now() - hung_at) / (PAUSE_SECONDS + RECALL_PART_SECONDS)
            assert TIME_OUTS <= len(waited) <= _REPLICAS * of_each_replica
            assert max(took) < RECALL_PART_SECONDS + 2
            made.network.hanging.clear()
            await asyncio.sleep(PAUSE_SECONDS)
            assert await agent.recall("note 0") == "whole"  # the probe
            assert made.counts["circuit index.query closed"] == 1
            await calm(made)
            await agent.recall_all()

    clock.run(scenario())


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_never_the_answer_where_the_index_could_not_be_asked_what_it_knows(kind: Kind) -> None:
    async def scenario() -> None:
        async with _agents(kind) as (made, (agent, newcomer, *_)):
            await agent.store(Text("told to the index", "a"))
            await calm(made)
            made.network.down.add("index")
            gateway = made.replicas[0].gateway("acme")
            for where in (Filter(), Filter(metadata={"session": "a"})):
                for query in ("a word of another", "anything else"):
                    with pytest.raises(Unavailable):
                        await gateway.recall(agent.agent_id, Query(query, where=where))
            nothing = await gateway.recall(newcomer.agent_id, Query("anything"))
            assert (nothing.entries, nothing.degraded) == ([], ["index_unavailable"])
            await gateway.store(newcomer.agent_id, NewMemory("only in the outbox"))
            (entry,) = (await gateway.recall(newcomer.agent_id, Query("anything"))).entries
            assert entry.content == "only in the outbox"

    clock.run(scenario())


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_database_nothing_is_acknowledged_and_nothing_was_done(kind: Kind) -> None:
    async def scenario() -> None:
        async with _agents(kind) as (made, (agent, *_)):
            await agent.store(Text("known"))
            await calm(made)
            (id_,), before = agent.history.existing(), made.file.connection.total_changes()
            made.network.down.add("database")
            gateway = made.replicas[0].gateway("acme")
            for call in (
                gateway.store(agent.agent_id, NewMemory("new")),
                gateway.recall(agent.agent_id, Query("known")),
                gateway.delete(agent.agent_id, id_),
                gateway.erase(agent.agent_id),
            ):
                await _is_unavailable(call)
            await asyncio.sleep(600)
            assert made.file.connection.total_changes() == before
            assert set(shown(made)) == {id_}
            made.network.down.clear()
            await calm(made)
            await agent.recall_all()

    clock.run(scenario())


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_embedder_nothing_is_written_and_what_is_there_can_be_deleted(kind: Kind) -> None:
    async def scenario() -> None:
        async with _agents(kind) as (made, (agent, *_)):
            await agent.store(Text("known"))
            await calm(made)
            made.network.down.add("embedder")
            gateway = made.replicas[0].gateway("acme")
            await _is_unavailable(gateway.store(agent.agent_id, NewMemory("new")))
            await _is_unavailable(gateway.recall(agent.agent_id, Query("never asked before")))
            tables = ("long_term_memory", "outbox", "audit")
            assert [len(made.file.rows_of(table)) for table in tables] == [1, 0, 1]
            assert len(shown(made)) == 1
            await agent.delete(agent.history.existing()[0])
            await calm(made)
            assert shown(made) == {}

    clock.run(scenario())


async def _is_unavailable(call: Awaitable[object]) -> None:
    """What an outage is answered with over HTTP: a client may try again."""
    with pytest.raises(Unavailable) as raised:
        await call
    assert raised.value.status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
