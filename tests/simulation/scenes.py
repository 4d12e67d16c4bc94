"""Small states of the service, made by a first process, in which a second one is then killed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from app.model import Scope
from app.ports.vector_index import IndexedVector
from tests.simulation.embedder import vector_of
from tests.simulation.settled import shown
from tests.simulation.workload import Agent
from tests.simulation.world import Replica, World

_ROUND_SECONDS = 20.0
_GRACE_SECONDS = 61.0
_CONFIRM_SECONDS = 185.0


@dataclass(slots=True)
class Scene:
    """Three agents: two of one tenant, and one of another that has the same name."""

    world: World
    bot: Agent
    other: Agent
    foreign: Agent

    @property
    def agents(self) -> list[Agent]:
        return [self.bot, self.other, self.foreign]

    async def store_everywhere(self, content: str) -> None:
        for agent in self.agents:
            await agent.store((content, None))


@dataclass(frozen=True, slots=True)
class Act:
    """What the victim does: the state it begins in, what it calls, and what must be true when it is over."""

    prepare: Callable[[Scene], Awaitable[None]]
    run: Callable[[Scene, Replica], Awaitable[None]]
    calls: frozenset[str]
    """Ports it has to use, lest it prove nothing."""
    finish: Callable[[Replica], Awaitable[None]] | None = None
    """What somebody has to do again in the victim's place; nothing where its indexer suffices."""
    check: Callable[[Scene], None] = lambda _: None


def scene(world: World) -> Scene:
    names = (("acme", "bot"), ("acme", "other"), ("globex", "bot"))
    bot, other, foreign = (Agent(world, tenant, agent) for tenant, agent in names)
    return Scene(world, bot, other, foreign)


async def rounds(replica: Replica, times: int) -> None:
    """Have an indexer work now and then."""
    for _ in range(times):
        await replica.indexer.round()
        await asyncio.sleep(_ROUND_SECONDS)


async def _known(scene: Scene) -> None:
    """Some memories that the index shows and the outbox no longer holds."""
    for n in range(3):
        await scene.store_everywhere(f"known {n}")
    await rounds(scene.world.replicas[0], 30)


async def _undelivered(scene: Scene) -> None:
    """And some that the index was never told of, or not of their deletion, long enough ago."""
    await _known(scene)
    scene.world.network.down.add("index")
    for n in range(2):
        await scene.store_everywhere(f"unsent {n}")
    for agent in scene.agents:
        await agent.delete(agent.history.existing()[0])
    scene.world.network.down.clear()
    await asyncio.sleep(_GRACE_SECONDS)


async def _unconfirmed(scene: Scene) -> None:
    """And some that it was told of and may show by now; its watermark has passed the first of them."""
    await _undelivered(scene)
    first = scene.world.replicas[0]
    await rounds(first, 8)
    await scene.store_everywhere("just sent")
    await first.indexer.round()
    await asyncio.sleep(_CONFIRM_SECONDS - _GRACE_SECONDS)
    scene.world.network.down.add("index")
    await scene.store_everywhere("unsent too")
    scene.world.network.down.clear()
    await asyncio.sleep(_GRACE_SECONDS)


async def _store(scene: Scene, victim: Replica) -> None:
    del victim
    await scene.bot.store(("new", None))


async def _delete(scene: Scene, victim: Replica) -> None:
    del victim
    await scene.bot.delete(scene.bot.history.existing()[0])


async def _deliver(scene: Scene, victim: Replica) -> None:
    del scene
    await victim.indexer.round()
    await victim.indexer.round()


async def _confirm(scene: Scene, victim: Replica) -> None:
    del scene
    await rounds(victim, 20)


async def _erase_agent(scene: Scene, victim: Replica) -> None:
    await _erase(scene, victim, [scene.bot], "bot")


async def _erase_tenant(scene: Scene, victim: Replica) -> None:
    await _erase(scene, victim, [scene.bot, scene.other], None)


async def _erase(scene: Scene, victim: Replica, agents: Sequence[Agent], agent_id: str | None) -> None:
    for agent in agents:
        for id_ in agent.history.ids():
            agent.history.begin_delete(id_)
    await victim.gateway("acme").erase(agent_id)
    while scene.world.file.rows("SELECT 1 FROM erasure WHERE receipt IS NULL"):
        await rounds(victim, 1)


def _check_agent_erased(scene: Scene) -> None:
    _check_erased(scene, [scene.bot])


def _check_tenant_erased(scene: Scene) -> None:
    _check_erased(scene, [scene.bot, scene.other])


def _check_erased(scene: Scene, agents: Sequence[Agent]) -> None:
    """An erasure that was begun is finished, and one that was not has erased nothing."""
    begun = scene.world.file.rows("SELECT receipt FROM erasure")
    for agent in agents:
        for delete in agent.history.deletes():
            delete.void = not begun
            if begun:
                agent.history.acknowledge_delete(delete)
    if begun:
        ((receipt,),) = begun
        assert receipt is not None
        scopes = {Scope(agent.tenant_id, agent.agent_id) for agent in agents}
        for table in ("long_term_memory", "outbox"):
            rows = scene.world.file.rows(f"SELECT tenant_id, agent_id FROM {table}")
            assert not scopes & {Scope(str(tenant), str(agent)) for tenant, agent in rows}
        assert not scopes & {scope for scope, _ in shown(scene.world).values()}


async def _damaged(scene: Scene) -> None:
    """An index that has lost some vectors, and holds some that no memory has."""
    await _unconfirmed(scene)
    index = scene.world.index
    for number, agent in enumerate(scene.agents):
        scope = Scope(agent.tenant_id, agent.agent_id)
        await index.delete(scope, agent.history.existing()[:2])
        await index.upsert([IndexedVector(scope, f"01STRAY{number:019}", vector_of("stray"), 1, 1)])
    await asyncio.sleep(_CONFIRM_SECONDS)


async def _reconcile(scene: Scene, victim: Replica) -> None:
    del scene
    await victim.reconcile(repair=True)


async def _reconcile_again(replica: Replica) -> None:
    """What nobody compares with again stays damaged: the indexer knows of none of it."""
    await asyncio.sleep(_GRACE_SECONDS)  # the lease of whoever was killed
    await replica.reconcile(repair=True)


_WRITES = frozenset({"database.run", "index.upsert", "index.delete"})
_ERASES = frozenset({"database.run", "index.delete", "index.held", "index.sample"})
_COMPARES = frozenset({"database.run", "index.list_ids", "index.held", "embedder.embed", "index.upsert"})

ACTS: Mapping[str, Act] = {
    "store": Act(_undelivered, _store, frozenset({"embedder.embed", "database.run", "index.upsert"})),
    "delete": Act(_undelivered, _delete, frozenset({"database.run", "index.delete"})),
    "deliver": Act(_undelivered, _deliver, _WRITES),
    "confirm": Act(_unconfirmed, _confirm, frozenset({"database.run", "index.upsert", "index.held"})),
    "erase agent": Act(_unconfirmed, _erase_agent, _ERASES, check=_check_agent_erased),
    "erase tenant": Act(_unconfirmed, _erase_tenant, _ERASES, check=_check_tenant_erased),
    "reconcile": Act(_damaged, _reconcile, _COMPARES, finish=_reconcile_again),
}
