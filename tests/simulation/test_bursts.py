"""What a burst waits for beside its own calls: only for those that it shares. The processor takes no time here."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import quantiles
from typing import TypeVar

import pytest

from app.adapters.coalescing.database import CoalescingDatabase
from app.adapters.coalescing.embedder import CoalescingEmbedder
from app.adapters.coalescing.index import CoalescingIndex
from app.adapters.local.sqlite_database import SqliteDatabase
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.services.memories.gateway import LongTermMemoryGateway
from tests.simulation import clock
from tests.simulation.embedder import DigestEmbedder
from tests.simulation.intercept import Effect, InterceptedDatabase, InterceptedEmbedder, InterceptedIndex, PortCall
from tests.simulation.world import World, world
from tests.support.gateways import ADMINISTRATOR

pytestmark = pytest.mark.thorough

T = TypeVar("T")

CLIENTS, ROUNDS = 64, 12
SECONDS = {"embedder": 0.1, "index": 0.04, "database": 0.04}
RECALL_PATH = sum(SECONDS.values())
STORE_PATH = SECONDS["embedder"] + SECONDS["database"]
AT_P50, AT_P99 = 1.5, 2.0
MOST_CALLS = 0.15
"""Calls of D1 and calls of the embedder for an operation at most; one alone needs one of each."""
_APART_SECONDS = 11.0
"""For so long the tenant runs alone that was refused because the config was not decided yet."""


@dataclass(slots=True)
class _Distance:
    """Lets each call take as long as it does over a distance, and counts the calls."""

    calls: dict[str, int] = field(default_factory=dict)

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        self.calls[call.name] = self.calls.get(call.name, 0) + 1
        await asyncio.sleep(SECONDS[call.name.partition(".")[0]])
        return await effect()


class _DistantEmbedder(InterceptedEmbedder):
    async def close(self) -> None:
        return


@dataclass(slots=True)
class _Burst:
    """Clients that store and recall, each the next thing as soon as it was answered."""

    world: World
    agents: int
    stores: list[float] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)

    async def client(self, gateways: Sequence[LongTermMemoryGateway], number: int) -> None:
        await asyncio.sleep(self.world.random.random() * RECALL_PATH)
        gateway, agent_id = gateways[number % len(gateways)], f"agent-{number % self.agents}"
        for round_ in range(ROUNDS):
            began, text = clock.now(), f"client {number} in round {round_}"
            if (number + round_) % 2:
                await gateway.store(agent_id, NewMemory(text))
                self.stores.append(clock.now() - began)
            else:
                await gateway.recall(agent_id, Query(text))
                self.recalls.append(clock.now() - began)


@pytest.mark.parametrize(("tenants", "agents"), [(1, 1), (8, 64)])
def test_a_burst_of_64_clients_takes_little_longer_than_its_calls(tenants: int, agents: int) -> None:
    async def burst() -> tuple[_Burst, dict[str, int]]:
        async with world("late", 1) as made:
            distance = _Distance()
            database = InterceptedDatabase(SqliteDatabase(made.file), distance)
            joined = replace(
                made.replica().backends,
                database=CoalescingDatabase(database, clock=clock.now),
                index=CoalescingIndex(InterceptedIndex(made.index, distance)),
                embedder=CoalescingEmbedder(_DistantEmbedder(DigestEmbedder(), distance)),
            )
            gateways = [
                LongTermMemoryGateway(joined.of_tenant(f"tenant-{number}", ADMINISTRATOR)) for number in range(tenants)
            ]
            await gateways[0].store("first", NewMemory("decides the config"))
            await asyncio.sleep(_APART_SECONDS)
            distance.calls.clear()
            asked = _Burst(made, agents)
            await asyncio.gather(*(asked.client(gateways, number) for number in range(CLIENTS)))
            return asked, distance.calls

    asked, calls = clock.run(burst())
    for seconds, path in ((asked.recalls, RECALL_PATH), (asked.stores, STORE_PATH)):
        cuts = quantiles(seconds, n=100, method="inclusive")
        assert cuts[49] <= AT_P50 * path
        assert cuts[98] <= AT_P99 * path
    assert calls["database.run"] <= MOST_CALLS * CLIENTS * ROUNDS, calls
    assert calls["embedder.embed"] <= MOST_CALLS * CLIENTS * ROUNDS, calls
