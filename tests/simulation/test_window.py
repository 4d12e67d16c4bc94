"""Between a recall's question to the index and its run of the database much may happen; nothing falls through."""

import asyncio
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from app.model import NewMemory
from app.ports.vector_index import Hits
from tests.simulation import clock
from tests.simulation.intercept import Effect, PortCall
from tests.simulation.world import Kind, Replica, World, world

T = TypeVar("T")

_AGENT, _CONTENT = "bot", "held on to"
_TENANT = "acme"
_HELD_SECONDS = 30.0
_SEEDS = range(10)


@dataclass(slots=True)
class _Hold:
    """Keeps a recall waiting before its run of the database, and remembers what the index had answered."""

    found: list[str] = field(default_factory=list)
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        if call.name == "database.run":
            self.ready.set()
            await asyncio.sleep(_HELD_SECONDS)
        answer = await effect()
        if isinstance(answer, Hits):
            self.found = [hit.id for hit in answer.hits]
        return answer


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one held recall saw: whether the index gave the memory, and the row's state as the database was asked."""

    by_index: bool
    confirmed: bool
    found: bool


async def _recall(made: World, id_: str) -> _Seen:
    hold = _Hold()
    replica = made.replica(hold)
    found = await replica.gateway(_TENANT).recall(_AGENT, _CONTENT)
    confirmed = bool(made.file.rows("SELECT 1 FROM outbox WHERE confirmed_at IS NOT NULL"))
    return _Seen(id_ in hold.found, confirmed, id_ in [entry.id for entry in found.entries])


async def _store(made: World, replica: Replica, *, reaches_index: bool) -> str:
    if not reaches_index:
        made.network.down.add("index")
    id_ = await replica.gateway(_TENANT).store(_AGENT, NewMemory(_CONTENT))
    made.network.down.clear()
    return id_


async def _ask_every_second(kind: Kind, seed: int, seconds: int, *, reaches_index: bool) -> list[_Seen]:
    async with world(kind, seed) as made:
        first = made.replica()
        first.start()
        id_ = await _store(made, first, reaches_index=reaches_index)
        asked = []
        for _ in range(seconds):
            asked.append(asyncio.create_task(_recall(made, id_)))
            await asyncio.sleep(1)
        seen = await asyncio.gather(*asked)
        assert not made.file.rows("SELECT 1 FROM outbox")
        return seen


@pytest.mark.parametrize("seed", _SEEDS)
def test_a_recall_held_up_while_the_indexer_confirms_and_forgets_a_row_finds_its_memory(seed: int) -> None:
    """The index answers before it shows the vector; the database is asked half a minute later."""
    seen = clock.run(_ask_every_second("late", seed, 360, reaches_index=True))
    assert all(recall.found for recall in seen), f"SEED={seed}"
    assert any(not recall.by_index for recall in seen)
    assert any(recall.confirmed for recall in seen)


@pytest.mark.parametrize("seed", _SEEDS)
def test_a_recall_held_up_while_the_indexer_delivers_to_the_embedded_index_finds_its_memory(seed: int) -> None:
    seen = clock.run(_ask_every_second("embedded", seed, 240, reaches_index=False))
    assert all(recall.found for recall in seen), f"SEED={seed}"
    assert any(not recall.by_index and recall.confirmed for recall in seen)


@pytest.mark.parametrize("kind", ["late", "embedded"])
def test_a_recall_held_up_while_the_memory_is_stored_again_finds_it(kind: Kind) -> None:
    """What the index did not take at first, it takes from the second store, while the recall is between its calls."""

    async def scenario() -> bool:
        async with world(kind, 1) as made:
            first = made.replica()
            first.start()
            id_ = await _store(made, first, reaches_index=False)
            hold = _Hold()
            asking = made.replica(hold)
            recall = asyncio.create_task(asking.gateway(_TENANT).recall(_AGENT, _CONTENT))
            await hold.ready.wait()
            assert await _store(made, first, reaches_index=True) == id_
            return id_ in [entry.id for entry in (await recall).entries]

    assert clock.run(scenario())
