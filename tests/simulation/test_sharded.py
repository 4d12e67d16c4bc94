"""A tenant moves between shards while it is used, and its mover is killed: every answer stays true."""

import asyncio
import os
from contextlib import suppress

import pytest

from app.domain.errors import Conflict, InvalidRequest, Unavailable
from app.domain.shards import MAIN
from app.runtime.moving import move_tenant
from tests.simulation import clock
from tests.simulation.killer import KilledError
from tests.simulation.network import SOUND, Rates
from tests.simulation.operations import Text
from tests.simulation.settled import flaws
from tests.simulation.sharded import EAST, KillAt, ShardedReplica, ShardedWorld, home_of, indexer_of, sharded_world
from tests.simulation.statements import STATED
from tests.simulation.workload import Agent
from tests.simulation.world import Kind
from tests.support import generation

_SEEDS = range(int(os.environ.get("SOAK_SEEDS", "1")))
_OPERATIONS = 60 if generation.LONG else 25
_SOME = 10**6 if generation.LONG else 8
"""How many of the moments at which a mover can be killed are tried."""
_TENANT = "acme"
_ROUND_SECONDS = 4
_QUIET_SECONDS = 600
_LEASED_SECONDS = 61
_FAILS = Rates(upsert=0.05, other=0.003, late=0.2)


async def _move(mover: ShardedReplica, to: str) -> None:
    assert mover.shards is not None
    await move_tenant(mover.shards, _TENANT, to, lambda _: None, poll_seconds=1, linger_seconds=1)


async def _index(replica: ShardedReplica) -> None:
    """Do what the indexers of a process do, until cancelled."""
    while True:
        for shard in (MAIN, EAST):
            with suppress(Unavailable):
                await indexer_of(replica, shard).round()
        await asyncio.sleep(_ROUND_SECONDS)


async def _moved_by_all_means(made: ShardedWorld, to: str) -> None:
    """Move as an operator does who runs the command again until it works."""
    for _ in range(40):
        try:
            await _move(await made.process(), to)
        except (Conflict, Unavailable):
            await asyncio.sleep(20)
        except InvalidRequest:  # the one that was killed had done all
            return
        else:
            return
    raise AssertionError("The tenant could not be moved.")


async def _simulate(kind: Kind, seed: int, to_and_fro: int, rates: Rates = SOUND) -> ShardedWorld:
    async with sharded_world(kind, seed) as made:
        processes = [await made.process(), await made.process()]
        made.replicas.extend(processes)
        agents = [Agent(made, tenant, agent) for tenant in (_TENANT, "globex") for agent in ("bot-1", "bot-2")]
        for agent in agents:
            await agent.store(Text(f"the first of {agent.agent_id}"))
        background = [asyncio.create_task(_index(replica)) for replica in processes]
        acting = [asyncio.create_task(agent.act(_OPERATIONS)) for agent in agents for _ in range(2)]
        home = await home_of(processes[0], _TENANT)
        way = [EAST, MAIN] if home == MAIN else [MAIN, EAST]
        made.network.rates = rates
        try:
            for number in range(to_and_fro):
                await _moved_by_all_means(made, way[number % 2])
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
        _check(made, way[(to_and_fro - 1) % 2])
        return made


def _check(made: ShardedWorld, home: str) -> None:
    """The tenant is in one shard, nothing of it in the other, and each index has the vectors of its database."""
    for shard, file in made.files.items():
        memories = file.rows(f"SELECT count(*) FROM long_term_memory WHERE tenant_id = '{_TENANT}'")
        assert (memories[0][0] != 0) == (shard == home)
        assert flaws(made.of(shard)) == set()
        assert file.rows("SELECT 1 FROM tenant_changes UNION ALL SELECT 1 FROM tenant_renumbered") == []
        assert file.rows("SELECT 1 FROM sqlite_master WHERE name LIKE 'tenant!_noted!_%' ESCAPE '!'") == []
    assert made.files[MAIN].rows("SELECT 1 FROM tenant_moves") == []
    assert made.files[MAIN].rows(f"SELECT shard FROM tenant_places WHERE tenant_id = '{_TENANT}'") == [(home,)]


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


async def _killed(kind: Kind, kill: KillAt) -> ShardedWorld:
    """Kill a mover while the tenant is used, look whether it is served, and let another one go on."""
    async with sharded_world(kind, 7) as made:
        processes = [await made.process(), await made.process()]
        made.replicas.extend(processes)
        agents = [Agent(made, tenant, "bot") for tenant in (_TENANT, "globex")]
        for agent in agents:
            for number in range(5):
                await agent.store(Text(f"note {number}"))
            for said in list(STATED)[:3]:
                await agent.store(Text(said))
        home = await home_of(processes[0], _TENANT)
        to = EAST if home == MAIN else MAIN
        victim = await made.process(kill)
        acting = [asyncio.create_task(agent.act(12)) for agent in agents]
        kill.armed = True
        with suppress(KilledError):
            await _move(victim, to)
        await asyncio.sleep(_LEASED_SECONDS if kill.killed else 0)
        assert await agents[0].store(Text("said when the mover was dead")) is not None
        assert await agents[0].recall("note 1") == "whole"
        await _moved_by_all_means(made, to)
        await asyncio.gather(*acting)
        for _ in range(8):
            await _round(processes[0])
        for agent in agents:
            await agent.recall_all()
        _check(made, to)
        return made


async def _round(replica: ShardedReplica) -> None:
    for shard in (MAIN, EAST):
        await indexer_of(replica, shard).round()
    await asyncio.sleep(_QUIET_SECONDS / 4)


@pytest.mark.parametrize("kind", ["late", "embedded"])
def test_a_mover_that_is_killed_at_any_call_leaves_the_tenant_served_and_another_goes_on(kind: Kind) -> None:
    counted = KillAt()
    clock.run(_killed(kind, counted))
    assert counted.made > 100
    moments = [(number, after) for number in range(1, counted.made + 1) for after in (False, True)]
    step = max(1, len(moments) // _SOME)
    for number, after in moments[(0 if kind == "late" else step // 2) :: step]:
        kill = KillAt(number, after=after)
        try:
            clock.run(_killed(kind, kill))
        except AssertionError as error:
            raise AssertionError(f"killed {'after' if after else 'before'} call {number}: {error}") from error
