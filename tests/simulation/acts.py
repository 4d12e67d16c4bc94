"""What a process does that is then killed at every call it makes, and what must be true afterwards."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.memory import Scope
from tests.simulation.operations import Text
from tests.simulation.scenes import (
    CORRECTION,
    Scene,
    corrected,
    damaged,
    new,
    rounds,
    said,
    unconfirmed,
    undelivered,
)
from tests.simulation.settled import shown
from tests.simulation.weather import check_nothing_is_lost
from tests.simulation.workload import Agent
from tests.simulation.world import Replica


@dataclass(frozen=True, slots=True)
class Act:
    """The state it begins in, what is called, every port call that makes, and what must be true when it is over."""

    prepare: Callable[[Scene], Awaitable[None]]
    run: Callable[[Scene, Replica], Awaitable[None]]
    calls: frozenset[str]
    check: Callable[[Scene], None] = lambda _: None
    some: frozenset[str] = frozenset()
    """Port calls that it makes only at times, such as where the index shows a memory of which nothing is queued."""


async def _store(scene: Scene, victim: Replica) -> None:
    del victim
    await scene.bot.store(Text("new"))


async def _delete(scene: Scene, victim: Replica) -> None:
    del victim
    await scene.bot.delete(scene.bot.history.existing()[0])


async def _forget(scene: Scene, victim: Replica) -> None:
    del victim
    await scene.bot.mark(scene.id_of(CORRECTION), forgotten=True)


async def _correct(scene: Scene, victim: Replica) -> None:
    del victim
    await scene.bot.store(CORRECTION)


async def _deliver(scene: Scene, victim: Replica) -> None:
    del scene
    await victim.indexer.round()
    await victim.indexer.close()


async def _confirm(scene: Scene, victim: Replica) -> None:
    del scene
    await rounds(victim, 10)


async def _reconcile(scene: Scene, victim: Replica) -> None:
    await victim.reconcile(repair=True)
    check_nothing_is_lost(scene.world)


async def _erase_agent(scene: Scene, victim: Replica) -> None:
    await _erase(scene, victim, [scene.bot], "bot")


async def _erase_tenant(scene: Scene, victim: Replica) -> None:
    await _erase(scene, victim, [scene.bot, scene.other], None)


async def _erase(scene: Scene, victim: Replica, agents: Sequence[Agent], agent_id: str | None) -> None:
    for agent in agents:
        for id_ in agent.history.ids():
            agent.history.begin_delete(id_)
    await victim.gateway("acme").erase(agent_id)
    while scene.world.file.rows_of("erasure", receipt=None):
        await rounds(victim, 1)


def _check_erased(scene: Scene) -> None:
    """An erasure that was begun is finished, and one that was not has erased nothing."""
    deletes = [(agent, delete) for agent in scene.agents for delete in agent.history.deletes()]
    begun = scene.world.file.rows_of("erasure", "receipt")
    for agent, delete in deletes:
        delete.void = not begun
        if begun:
            agent.history.acknowledge_delete(delete)
    if begun:
        ((receipt,),) = begun
        counted = json.loads(str(receipt))["erased"]["memories"]
        assert counted >= len(deletes) if scene.halved else counted == len(deletes)
        scopes = {Scope(agent.tenant_id, agent.agent_id) for agent, _ in deletes}
        for table in ("long_term_memory", "outbox"):
            rows = scene.world.file.rows_of(table, "tenant_id", "agent_id")
            assert not scopes & {Scope(str(tenant), str(agent)) for tenant, agent in rows}
        assert not scopes & {scope for scope, _ in shown(scene.world).values()}


def _check_read(scene: Scene) -> None:
    """What every memory states was read, though the run that stored it stopped before that."""
    assert not scene.world.file.rows_of("long_term_memory", statements_read=None)


_STORE = frozenset({"embedder.embed", "database.run", "index.upsert"})
_DELETE = frozenset({"database.run", "index.delete"})
_DELIVER = _DELETE | {"index.upsert"}
_CONFIRM = frozenset({"database.run", "index.watermark", "index.upsert", "index.held"})
_ERASE = _DELIVER | _CONFIRM | {"index.sample"}
_PURGE = frozenset({"database.purge_log"})
_RECONCILE = _STORE | {"index.list_ids", "index.held"}

ACTS: Mapping[str, Act] = {
    "first store": Act(new, _store, _STORE),
    "store": Act(undelivered, _store, _STORE),
    "correct": Act(said, _correct, _STORE, check=_check_read),
    "forget": Act(corrected, _forget, frozenset({"database.run"})),
    "delete": Act(undelivered, _delete, _DELETE),
    "deliver": Act(undelivered, _deliver, _DELIVER),
    "confirm": Act(unconfirmed, _confirm, _CONFIRM, some=_PURGE),
    "erase agent": Act(damaged, _erase_agent, _ERASE, check=_check_erased, some=_PURGE),
    "erase tenant": Act(damaged, _erase_tenant, _ERASE, check=_check_erased, some=_PURGE),
    "reconcile": Act(damaged, _reconcile, _RECONCILE, some=frozenset({"index.agrees", "index.query"})),
}
