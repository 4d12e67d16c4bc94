"""A tenant that was moved away and came back lives in its shard with another epoch, which every run there checks."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.domain.author import Author
from app.domain.errors import TenantMoved
from app.domain.memory import NewMemory
from app.domain.shards import MAIN
from app.runtime.moving import move_tenant
from app.services.memories.gateway import LongTermMemoryGateway
from tests.support.service import Service, serving
from tests.support.sharded import placed, sharded

pytestmark = pytest.mark.thorough

_EAST = "east"


@dataclass(frozen=True, slots=True)
class Outdated:
    """A process that knows the tenant's shard with the epoch of before two moves, and another that has moved it."""

    process: Service
    mover: Service
    memory_id: str

    @property
    def gateway(self) -> LongTermMemoryGateway:
        """The tenant's memory, as a request has it that was given the shard before the tenant left."""
        return self.process.shards.runtimes[_EAST].services("acme", Author()).gateway


async def store(outdated: Outdated) -> None:
    await outdated.gateway.store("bot", NewMemory("a bear"))


async def forget(outdated: Outdated) -> None:
    await outdated.gateway.delete("bot", outdated.memory_id)


@pytest.fixture
async def outdated(tmp_path: Path) -> AsyncIterator[Outdated]:
    async with sharded(tmp_path, [_EAST]) as process, serving(tmp_path) as mover:
        await placed(process, "acme", _EAST)
        await process.store("a fox", tenant="acme")
        (fox,) = await process.recall("fox", tenant="acme")
        for shard in (MAIN, _EAST):
            await move_tenant(mover.shards, "acme", shard, lambda _: None, poll_seconds=0, linger_seconds=0)
        yield Outdated(process, mover, fox["id"])


@pytest.mark.parametrize("write", [store, forget])
async def test_a_write_with_the_epoch_of_before_two_moves_changes_nothing(
    outdated: Outdated, write: Callable[[Outdated], Awaitable[None]]
) -> None:
    with pytest.raises(TenantMoved):
        await write(outdated)
    assert await outdated.mover.contents("fox bear", tenant="acme") == ["a fox"]


async def test_a_request_with_the_epoch_of_before_two_moves_is_made_again_with_that_of_now(outdated: Outdated) -> None:
    await outdated.process.store("a bear", tenant="acme")
    assert sorted(await outdated.mover.contents("fox bear", tenant="acme")) == ["a bear", "a fox"]
