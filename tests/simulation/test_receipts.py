"""A receipt says that nothing is left: not even what an index shows only later."""

import asyncio

from app.model import NewMemory, Scope
from tests.simulation import clock
from tests.simulation.index import LateIndex
from tests.simulation.settled import shown
from tests.simulation.world import World, world

_BOT = Scope("acme", "bot")
_STALL_SECONDS = 900.0
_LONG_SECONDS = 3600


async def _erase(made: World) -> str:
    erasure = await made.replicas[0].gateway(_BOT.tenant_id).erase(_BOT.agent_id)
    return erasure.id


async def _receipt_then_vectors(made: World, erasure_id: str) -> tuple[bool, list[str]]:
    """Look every second for an hour: whether there was a receipt, and what the index showed after it."""
    gateway = made.replicas[0].gateway(_BOT.tenant_id)
    receipt, later = False, set()
    for _ in range(_LONG_SECONDS):
        receipt = receipt or (await gateway.erasure(erasure_id)).receipt is not None
        if receipt:
            later |= {id_ for id_, (scope, _) in shown(made).items() if scope == _BOT}
        await asyncio.sleep(1)
    return receipt, sorted(later)


def test_no_receipt_is_written_before_an_index_that_fell_behind_has_caught_up() -> None:
    """It does not show the vector yet: that alone is no proof that it never will."""

    async def scenario() -> tuple[bool, list[str]]:
        async with world("late", 1) as made:
            made.replica().start()
            assert isinstance(made.index, LateIndex)
            await made.replicas[0].gateway(_BOT.tenant_id).store(_BOT.agent_id, NewMemory("text"))
            made.index.stall(_STALL_SECONDS)
            return await _receipt_then_vectors(made, await _erase(made))

    assert clock.run(scenario()) == (True, [])


def test_no_receipt_is_written_before_a_call_that_stalled_has_landed_and_is_undone() -> None:
    async def scenario() -> tuple[bool, list[str]]:
        async with world("late", 1) as made:
            made.replica().start()
            made.network.stalled.add("index.upsert")
            await made.replicas[0].gateway(_BOT.tenant_id).store(_BOT.agent_id, NewMemory("text"))
            made.network.stalled.clear()
            return await _receipt_then_vectors(made, await _erase(made))

    assert clock.run(scenario()) == (True, [])
