"""The data moves to another embedding model and back while everything fails: every answer stays true."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from app.domain.embedding import EmbeddingConfig
from app.domain.errors import Conflict, Unavailable
from app.indexing.jobs.reconcile import Reconcile
from app.indexing.jobs.reembed import Reembedding
from app.indexing.rate_limiter import RateLimiter
from app.storage.system.reembedding import ReembeddingState
from tests.simulation import clock
from tests.simulation.embedder import CONFIG, OTHER
from tests.simulation.index import LateIndex
from tests.simulation.operations import Text
from tests.simulation.settled import memories_of
from tests.simulation.weather import calm, storm
from tests.simulation.workload import Agent
from tests.simulation.world import Kind, Replica, World, world
from tests.support import generation

pytestmark = pytest.mark.thorough

_SEEDS = range(int(os.environ.get("SOAK_SEEDS", "1")))
_OPERATIONS = 150 if generation.LONG else 50
_CALLS_PER_MINUTE = 240
_AGAIN_SECONDS = 5.0
_STAYS_SECONDS = (60.0, 250.0)
_KILLED_SECONDS = 60.0


def _moving(replica: Replica) -> Reembedding:
    return Reembedding(replica.backends.database, RateLimiter(_CALLS_PER_MINUTE))


async def _copy(replica: Replica) -> None:
    state = await _moving(replica).begin(OTHER)
    backends = replica.backends
    comparison = Reconcile(
        backends.database,
        backends.index_of(state.other),
        backends.embedder_of(state.other),
        holder=f"copy {replica.name}",
        rate_limiter=RateLimiter(_CALLS_PER_MINUTE),
        repair=True,
        report=lambda _: None,
    )
    await comparison.run()
    await _moving(replica).copied(state.left_out)


async def _copy_or_be_killed(made: World, replica: Replica) -> None:
    """Copy, and now and then be killed while at it."""
    copying = asyncio.create_task(_copy(replica))
    done, _ = await asyncio.wait([copying], timeout=made.random.expovariate(1 / _KILLED_SECONDS))
    if not done:
        copying.cancel()
        made.counts["copy killed"] += 1
        with suppress(asyncio.CancelledError):
            await copying
        raise Conflict("killed")
    copying.result()


async def _until(made: World, step: Callable[[Replica], Awaitable[object]]) -> None:
    """Try again, on whichever replica there is, until it works."""
    while True:
        try:
            await step(made.random.choice(made.replicas))
        except (Unavailable, Conflict):
            await asyncio.sleep(_AGAIN_SECONDS)
        else:
            return


async def _move(made: World) -> None:
    """Move to the other model and back, again and again."""
    to = OTHER
    while True:
        await asyncio.sleep(made.random.uniform(*_STAYS_SECONDS))
        await _switch(made, to)
        made.counts[f"switched to {to.model}"] += 1
        to = CONFIG if to == OTHER else OTHER


async def _switch(made: World, to: EmbeddingConfig) -> None:
    async def step(replica: Replica) -> None:
        with suppress(Conflict):
            await _moving(replica).switch(to, force=True)
            return
        await _copy_or_be_killed(made, replica)
        raise Conflict("not yet")

    await _until(made, step)


async def _state(made: World) -> ReembeddingState:
    state = await _moving(made.replicas[0]).state()
    assert state is not None
    return state


async def _simulate(kind: Kind, seed: int) -> World:
    async with world(kind, seed) as made:
        for _ in range(2):
            made.replica().start()
        agents = [Agent(made, tenant, agent) for tenant in ("acme", "globex") for agent in ("bot-1", "bot-2")]
        await agents[0].store(Text("the first"))
        background = [asyncio.create_task(task) for task in (storm(made), _move(made))]
        try:
            await asyncio.gather(*(agent.act(_OPERATIONS) for agent in agents for _ in range(2)))
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
        await made.network.settled()
        await _until(made, _copy)
        await calm(made)
        for to in (OTHER, CONFIG, OTHER):
            await _switch(made, to)
            for agent in agents:
                await agent.recall_all()
        _check_both(made)
        state = await _state(made)
        assert (state.used, state.other, state.complete) == (OTHER, CONFIG, True)
        return made


def _check_both(made: World) -> None:
    """Every memory has its vector in the other index too, and nothing else has."""
    memories = memories_of(made)
    if isinstance(made.other_index, LateIndex):
        shown = {id_: vector.scope for id_, vector in made.other_index.shown.items()}
        assert shown == {id_: scope for id_, (scope, _) in memories.items()}


@pytest.mark.parametrize("kind", ["late", "embedded"])
def test_every_answer_is_true_while_the_data_moves_between_two_models(kind: Kind) -> None:
    switched = 0
    for seed in _SEEDS:
        try:
            counts = clock.run(_simulate(kind, seed)).counts
        except AssertionError as error:
            raise AssertionError(f"SEED={seed} on {kind}: {error}") from error
        assert counts["recalled whole"] > _OPERATIONS
        switched += counts["switched to other"] + counts["switched to digest"]
    assert switched >= 0.9 * len(_SEEDS)  # now and then one has no time for it
