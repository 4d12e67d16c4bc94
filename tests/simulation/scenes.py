"""Small states of the service, made by a first process, in which a second one is then killed."""

import asyncio
from dataclasses import dataclass

from app.domain.memory import Scope
from app.ports.vector_index import IndexedVector
from tests.simulation.embedder import vector_of
from tests.simulation.operations import Text
from tests.simulation.workload import Agent
from tests.simulation.world import Replica, World

STATEMENT, CORRECTION = Text("I live in Rome"), Text("I moved to Oslo")
_ROUND_SECONDS = 45.0
_GRACE_SECONDS = 61.0
_CONFIRM_SECONDS = 185.0


@dataclass(slots=True)
class Scene:
    """Three agents: two of one tenant, and one of another that has the same name."""

    world: World
    bot: Agent
    other: Agent
    foreign: Agent
    halved: bool = False
    """Whether the victim was killed in the middle of a run of the database."""

    @property
    def agents(self) -> list[Agent]:
        return [self.bot, self.other, self.foreign]

    def id_of(self, text: Text) -> str:
        """Return the id of what the first agent has stored."""
        return next(id_ for id_ in self.bot.history.existing() if self.bot.history.text_of(id_) == text)

    async def store_everywhere(self, content: str) -> None:
        for agent in self.agents:
            await agent.store(Text(content))
        await self.world.delivered()


def scene(world: World) -> Scene:
    names = (("acme", "bot"), ("acme", "other"), ("globex", "bot"))
    bot, other, foreign = (Agent(world, tenant, agent) for tenant, agent in names)
    return Scene(world, bot, other, foreign)


async def rounds(replica: Replica, times: int) -> None:
    """Have an indexer work now and then."""
    for _ in range(times):
        await replica.indexer.round()
        await asyncio.sleep(_ROUND_SECONDS)


async def new(scene: Scene) -> None:
    """A service that has not stored anything yet."""
    del scene


async def known(scene: Scene) -> None:
    """Some memories that the index shows and the outbox no longer holds."""
    for n in range(3):
        await scene.store_everywhere(f"known {n}")
    await rounds(scene.world.replicas[0], 14)


async def said(scene: Scene) -> None:
    """And a statement that can be corrected, of which the index was not told yet."""
    await known(scene)
    for agent in scene.agents:
        await agent.store(STATEMENT)


async def corrected(scene: Scene) -> None:
    """And its correction."""
    await said(scene)
    for agent in scene.agents:
        await agent.store(CORRECTION)


async def undelivered(scene: Scene) -> None:
    """And some that the index was never told of, or not of their deletion, long enough ago."""
    await known(scene)
    scene.world.network.down.add("index")
    for n in range(2):
        await scene.store_everywhere(f"unsent {n}")
    for agent in scene.agents:
        await agent.delete(agent.history.existing()[0])
    await scene.world.delivered()
    scene.world.network.down.clear()
    await asyncio.sleep(_GRACE_SECONDS)


async def unconfirmed(scene: Scene) -> None:
    """And some that it was told of and may show by now; its watermark has passed the first of them."""
    await undelivered(scene)
    first = scene.world.replicas[0]
    await rounds(first, 4)
    await scene.store_everywhere("just sent")
    await first.indexer.round()
    await asyncio.sleep(_CONFIRM_SECONDS - _GRACE_SECONDS)
    scene.world.network.down.add("index")
    await scene.store_everywhere("unsent too")
    scene.world.network.down.clear()
    await asyncio.sleep(_GRACE_SECONDS)


async def damaged(scene: Scene) -> None:
    """An index that has lost some vectors, and holds some that no memory has."""
    await unconfirmed(scene)
    index = scene.world.index
    for number, agent in enumerate(scene.agents):
        scope = Scope(agent.tenant_id, agent.agent_id)
        await index.delete(scope, agent.history.existing()[:2])
        await index.upsert([IndexedVector(scope, f"01STRAY{number:019}", vector_of("stray"), 1, 1)])
    await asyncio.sleep(_CONFIRM_SECONDS)
