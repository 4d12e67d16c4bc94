"""A receipt says that nothing is left: not even what an index shows only later."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from tests.simulation import clock
from tests.simulation.index import LateIndex
from tests.simulation.settled import shown
from tests.simulation.weather import calm
from tests.simulation.world import Kind, World, world
from tests.support import generation

_BOT = Scope("acme", "bot")
_SEEDS = range(10 if generation.LONG else 1)
_TEXTS = ("one", "two", "three")
_STALL_SECONDS = 900.0
_LOOKS_SECONDS = 5 if generation.LONG else 120
_LONG_SECONDS = 3600


async def _store(made: World) -> None:
    for text in _TEXTS:
        await made.replicas[0].gateway(_BOT.tenant_id).store(_BOT.agent_id, NewMemory(text))


async def _stall_after_storing(made: World) -> None:
    """The index has taken the vectors and shows none of them yet: that is no proof that it never will."""
    await _store(made)
    _stall(made)


async def _stall_before_erasing(made: World) -> None:
    """The index shows the vectors and goes on doing so long after it has taken their removal."""
    await _store(made)
    await calm(made)
    _stall(made)


async def _store_while_calls_stall(made: World) -> None:
    """The vectors reach the index only when whoever sent them has gone."""
    made.network.stalled.add("index.upsert")
    await _store(made)
    made.network.stalled.clear()


async def _lose_sight_of_vectors(made: World) -> None:
    """The index holds vectors that neither the database nor the outbox names."""
    await _store(made)
    await calm(made)
    made.file.delete_rows("long_term_memory", content="one")


def _stall(made: World) -> None:
    assert isinstance(made.index, LateIndex)
    made.index.stall(_STALL_SECONDS)


async def _erase(made: World) -> None:
    """Erase the agent; for an hour from the receipt on nothing may be found in any way."""
    gateway = made.replicas[0].gateway(_BOT.tenant_id)
    ids = {*made.file.column_of("long_term_memory", "id")} | set(shown(made))
    erasure = await gateway.erase(_BOT.agent_id)
    while (await gateway.erasure(erasure.id)).receipt is None:
        assert clock.now() < _LONG_SECONDS, "no receipt was ever written"
        await asyncio.sleep(_LOOKS_SECONDS)
    for _ in range(0, _LONG_SECONDS, _LOOKS_SECONDS):
        assert await made.replicas[0].backends.index.held(sorted(ids)) == {}
        assert (await gateway.recall(_BOT.agent_id, Query(_TEXTS[0]))).entries == []
        assert shown(made) == {}
        await asyncio.sleep(_LOOKS_SECONDS)


@pytest.mark.parametrize(
    ("kind", "prepare"),
    [
        ("late", _stall_after_storing),
        ("late", _stall_before_erasing),
        ("late", _store_while_calls_stall),
        ("late", _lose_sight_of_vectors),
        pytest.param("embedded", _store_while_calls_stall, marks=pytest.mark.thorough),
        ("embedded", _lose_sight_of_vectors),
    ],
)
def test_no_receipt_is_written_before_the_vectors_are_known_to_be_gone(
    kind: Kind, prepare: Callable[[World], Awaitable[None]]
) -> None:
    async def scenario(seed: int) -> None:
        async with world(kind, seed) as made:
            made.replica().start()
            await prepare(made)
            await _erase(made)

    for seed in _SEEDS:
        try:
            clock.run(scenario(seed))
        except AssertionError as error:
            raise AssertionError(f"SEED={seed}: {error}") from error
