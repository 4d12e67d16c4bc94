"""Between a recall's question to the index and its run of the database much may happen; nothing falls through."""

import asyncio
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from app.domain.memory import NewMemory
from app.domain.query import Query
from app.ports.vector_index import Hits
from tests.simulation import clock
from tests.simulation.index import LateIndex
from tests.simulation.intercept import Effect, PortCall
from tests.simulation.world import Kind, Replica, World, world
from tests.support import generation

T = TypeVar("T")

_AGENT, _CONTENT = "bot", "held on to"
_TENANT = "acme"
_HELD_SECONDS = 45.0
_SEEDS = range(10 if generation.LONG else 1)
_EVERY_SECONDS = 1 if generation.LONG else 3


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
    """What one held recall saw: whether the index gave the memory, and its row before and after it was held."""

    by_index: bool
    before: str
    after: str
    found: bool


async def _recall(made: World, id_: str) -> _Seen:
    hold = _Hold()
    asking = asyncio.create_task(made.replica(hold).gateway(_TENANT).recall(_AGENT, Query(_CONTENT)))
    await hold.ready.wait()
    before = _row(made, id_)
    found = await asking
    return _Seen(id_ in hold.found, before, _row(made, id_), id_ in [entry.id for entry in found.entries])


def _row(made: World, id_: str) -> str:
    rows = made.file.column_of("outbox", "confirmed_at", id=id_)
    return "forgotten" if not rows else "pending" if rows[0] is None else "confirmed"


async def _store(made: World, replica: Replica, *, reaches_index: bool) -> str:
    if not reaches_index:
        made.network.down.add("index")
    id_ = await replica.gateway(_TENANT).store(_AGENT, NewMemory(_CONTENT))
    await made.delivered()
    made.network.down.clear()
    return id_


async def _ask_again_and_again(made: World, id_: str, seconds: int) -> list[_Seen]:
    asked = []
    for _ in range(0, seconds, _EVERY_SECONDS):
        asked.append(asyncio.create_task(_recall(made, id_)))
        await asyncio.sleep(_EVERY_SECONDS)
    return await asyncio.gather(*asked)


async def _while_others_store(replica: Replica) -> None:
    """Keep the index's mark moving, so that a row is confirmed as soon as it can be."""
    for number in range(1_000):
        await replica.gateway(_TENANT).store("another", NewMemory(f"note {number}"))
        await asyncio.sleep(5)


async def _watched(kind: Kind, seed: int) -> list[_Seen]:
    """Ask for one memory all the time from its store until its row is forgotten."""
    async with world(kind, seed) as made:
        first = made.replica()
        first.start()
        others = asyncio.create_task(_while_others_store(first))
        if isinstance(made.index, LateIndex):  # soon after it shows the memory, it can be known that it does
            made.index.shows_seconds = 119.0, 120.0
        id_ = await _store(made, first, reaches_index=kind == "late")
        if isinstance(made.index, LateIndex):
            made.index.shows_seconds = 5.0, 6.0
            made.index.stall(300 + 6 * seed)
        seen = await _ask_again_and_again(made, id_, 700 if kind == "late" else 240)
        assert _row(made, id_) == "forgotten"
        others.cancel()
        return seen


@pytest.mark.parametrize("kind", ["late", pytest.param("embedded", marks=pytest.mark.thorough)])
def test_a_recall_held_up_while_the_indexer_confirms_and_forgets_a_row_finds_its_memory(kind: Kind) -> None:
    """The index answers before it shows the vector; the database is asked most of a minute later."""
    seen: list[_Seen] = []
    for seed in _SEEDS:
        seen += (of_seed := clock.run(_watched(kind, seed)))
        assert all(recall.found for recall in of_seed), f"SEED={seed}"
    assert any(not recall.by_index and recall.after == "confirmed" for recall in seen)
    assert any((recall.before, recall.after) == ("confirmed", "forgotten") for recall in seen)
    assert any((recall.by_index, recall.before) == (True, "forgotten") for recall in seen)


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
            recall = asyncio.create_task(asking.gateway(_TENANT).recall(_AGENT, Query(_CONTENT)))
            await hold.ready.wait()
            assert await _store(made, first, reaches_index=True) == id_
            return id_ in [entry.id for entry in (await recall).entries]

    assert clock.run(scenario())
