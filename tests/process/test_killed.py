"""A server that dies at any moment."""

import asyncio
import random
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
import pytest

from tests.process.conftest import Start
from tests.process.memories import Memory, forgotten, halves, held, made, outbox_is_empty_in_time, recall, store
from tests.process.server import Server, until
from tests.support import generation

CLIENTS = 8


@dataclass(slots=True)
class Load:
    """Clients that store until the server is gone, and what they were told."""

    server: Server
    label: str
    acknowledged: list[Memory] = field(default_factory=list)
    unanswered: list[Memory] = field(default_factory=list)

    async def run(self, *, kill_after: int, delay: float) -> None:
        """Store; some moments after as many acknowledgements the server is killed."""
        numbers = count()
        async with self.server.client() as client:

            async def storing() -> None:
                while True:
                    memory = made(self.label, next(numbers))
                    try:
                        answer = await store(client, memory)
                    except httpx.TransportError:
                        self.unanswered.append(memory)
                        return
                    assert answer.status_code == 201, answer.text
                    self.acknowledged.append(memory)
                    if len(self.acknowledged) == kill_after:
                        asyncio.get_running_loop().call_later(delay, self.server.kill)

            await asyncio.gather(*(storing() for _ in range(CLIENTS)))
        await self.server.ended()


@pytest.mark.parametrize("kills", [1, pytest.param(4 if generation.LONG else 2, marks=pytest.mark.thorough)])
async def test_no_kill_loses_an_acknowledged_memory_or_leaves_half_of_one(
    start: Start, data_dir: Path, kills: int
) -> None:
    dice = random.Random(20)
    acknowledged: list[Memory] = []
    unanswered: list[Memory] = []
    for round_ in range(kills):
        load = Load(await start(), f"round {round_}")
        await load.run(kill_after=dice.randrange(10, 130 if generation.LONG else 40), delay=dice.uniform(0, 0.02))
        acknowledged += load.acknowledged
        unanswered += load.unanswered
        assert halves(data_dir) == {}
    assert set(acknowledged) <= set(held(data_dir)) <= set(acknowledged) | set(unanswered)

    server = await start(INDEXER_SECONDS="0.02")
    async with server.client() as client:
        assert await forgotten(client, held(data_dir)) == []
        for memory in unanswered:
            assert (await store(client, memory)).status_code == 201
        assert sorted(held(data_dir)) == sorted(acknowledged + unanswered)
        assert await forgotten(client, unanswered) == []
    assert halves(data_dir) == {}
    await until(lambda: outbox_is_empty_in_time(data_dir))


async def test_a_kill_brings_back_no_memory_whose_delete_was_acknowledged(start: Start, data_dir: Path) -> None:
    memories = [made("short-lived", number) for number in range(32)]
    server = await start()
    deleted: list[Memory] = []
    async with server.client() as client:

        async def coming_and_going(share: list[Memory]) -> None:
            for memory in share:
                assert (await store(client, memory)).status_code == 201
                (entry,) = await recall(client, memory)
                path = f"/memories/{entry['id']}?agent_id={memory.agent_id}"
                assert (await client.delete(path)).status_code == 204
                deleted.append(memory)
                if len(deleted) == 20:
                    server.kill()

        results = await asyncio.gather(
            *(coming_and_going(memories[client::CLIENTS]) for client in range(CLIENTS)), return_exceptions=True
        )
    await server.ended()
    assert all(result is None or isinstance(result, httpx.TransportError) for result in results)
    server = await start()
    assert set(deleted).isdisjoint(held(data_dir))
    assert halves(data_dir) == {}  # a vector whose removal was cut off is still queued for it
    async with server.client() as client:
        assert await forgotten(client, deleted) == deleted
