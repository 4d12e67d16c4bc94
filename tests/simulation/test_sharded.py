"""A tenant moves between shards while it is used: every answer stays true."""

import asyncio
import os
from contextlib import suppress

import pytest

from app.domain.errors import Unavailable
from app.domain.shards import MAIN
from tests.simulation import clock
from tests.simulation.moves import TENANT, check_moved, moved_by_all_means
from tests.simulation.network import SOUND, Rates
from tests.simulation.operations import Text
from tests.simulation.sharded import EAST, ShardedReplica, ShardedWorld, home_of, indexer_of, sharded_world
from tests.simulation.workload import Agent
from tests.simulation.world import Kind
from tests.support import generation

pytestmark = pytest.mark.thorough

_SEEDS = range(int(os.environ.get("SOAK_SEEDS", "1")))
_OPERATIONS = 60 if generation.LONG else 25
_ROUND_SECONDS = 4
_QUIET_SECONDS = 600
_FAILS = Rates(upsert=0.05, other=0.003, late=0.2)


async def _index(replica: ShardedReplica) -> None:
    """Do what the indexers of a process do, until cancelled."""
    while True:
        for shard in (MAIN, EAST):
            with suppress(Unavailable):
                await indexer_of(replica, shard).round()
        await asyncio.sleep(_ROUND_SECONDS)


async def _simulate(kind: Kind, seed: int, to_and_fro: int, rates: Rates = SOUND) -> ShardedWorld:
    async with sharded_world(kind, seed) as made:
        processes = [await made.process(), await made.process()]
        made.replicas.extend(processes)
        agents = [Agent(made, tenant, agent) for tenant in (TENANT, "globex") for agent in ("bot-1", "bot-2")]
        for agent in agents:
            await agent.store(Text(f"the first of {agent.agent_id}"))
        background = [asyncio.create_task(_index(replica)) for replica in processes]
        acting = [asyncio.create_task(agent.act(_OPERATIONS)) for agent in agents for _ in range(2)]
        home = await home_of(processes[0], TENANT)
        way = [EAST, MAIN] if home == MAIN else [MAIN, EAST]
        made.network.rates = rates
        try:
            for number in range(to_and_fro):
                await moved_by_all_means(made, way[number % 2])
            await asyncio.gather(*acting)
            made.network.rates = SOUND
            await made.network.settled()
            await asyncio.sleep(_QUIET_SECONDS)
            for agent in agents:
                await agent.recall_all()
        finally:
            for task in (*background, *acting):
                task.cancel()
            await asyncio.gather(*background, *acting, return_exceptions=True)
        check_moved(made, way[(to_and_fro - 1) % 2])
        return made


@pytest.mark.parametrize("kind", ["late", "embedded"])
def test_every_answer_is_true_while_a_tenant_moves_to_and_fro(kind: Kind) -> None:
    for seed in _SEEDS:
        try:
            counts = clock.run(_simulate(kind, seed, 3)).counts
        except AssertionError as error:
            raise AssertionError(f"SEED={seed} on {kind}: {error}") from error
        assert counts["stored"] > _OPERATIONS
        assert counts["recalled whole"] > _OPERATIONS


@pytest.mark.parametrize("kind", ["late", "embedded"])
def test_every_answer_is_true_while_a_tenant_moves_over_a_network_that_fails(kind: Kind) -> None:
    for seed in _SEEDS:
        try:
            clock.run(_simulate(kind, seed, 1, _FAILS))
        except AssertionError as error:
            raise AssertionError(f"SEED={seed} on {kind}: {error}") from error
