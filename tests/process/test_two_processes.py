"""Two servers on one data directory."""

import asyncio
import stat
import time
from itertools import cycle
from pathlib import Path

import pytest

from app.services.access.credentials import Credentials
from tests.process.conftest import Spawn, Start
from tests.process.memories import Memory, forgotten, halves, held, made, queued, recall, rows_of, store
from tests.process.server import Server, until
from tests.support.tables import Not

pytestmark = pytest.mark.thorough

CLIENTS = 8
EACH = 4


@pytest.fixture
async def pair(spawn: Spawn) -> tuple[Server, Server]:
    pair = (spawn(), spawn())
    await asyncio.gather(*(server.ready() for server in pair))
    return pair


async def test_what_one_process_stored_the_other_recalls_at_once(pair: tuple[Server, Server], data_dir: Path) -> None:
    async with pair[0].client() as first, pair[1].client() as second:

        async def alternating(share: list[Memory]) -> None:
            for (here, there), memory in zip(cycle([(first, second), (second, first)]), share, strict=False):
                assert (await store(here, memory)).status_code == 201
                assert await forgotten(there, [memory]) == []

        memories = [made("shared", number) for number in range(CLIENTS * EACH)]
        await asyncio.gather(*(alternating(memories[client::CLIENTS]) for client in range(CLIENTS)))
        assert held(data_dir) == sorted(memories)
        assert await forgotten(first, memories) == await forgotten(second, memories) == []

    async def drained() -> bool:
        return queued(data_dir) == 0

    await until(drained)
    assert halves(data_dir) == {}


async def test_what_one_process_deleted_the_other_has_forgotten_at_once(
    pair: tuple[Server, Server], start: Start, data_dir: Path
) -> None:
    async with pair[0].client() as first, pair[1].client() as second:

        async def coming_and_going(share: list[Memory]) -> None:
            for (here, there), memory in zip(cycle([(first, second), (second, first)]), share, strict=False):
                assert (await store(here, memory)).status_code == 201
                (entry,) = await recall(there, memory)
                path = f"/memories/{entry['id']}?agent_id={memory.agent_id}"
                assert (await there.delete(path)).status_code == 204
                assert await forgotten(here, [memory]) == [memory]
                assert await forgotten(there, [memory]) == [memory]

        memories = [made("passing", number) for number in range(CLIENTS * EACH // 2)]
        await asyncio.gather(*(coming_and_going(memories[client::CLIENTS]) for client in range(CLIENTS)))
        assert held(data_dir) == []
    assert halves(data_dir) == {}
    await asyncio.gather(*(server.stop() for server in pair))
    await start()
    # What a request deleted is deleted once more after a minute, should a slow upsert have come in between.
    assert rows_of(data_dir, "outbox", operation=Not("delete")) == rows_of(data_dir, "local_vector") == []


async def test_the_same_memory_stored_through_both_at_once_is_one_memory(
    pair: tuple[Server, Server], data_dir: Path
) -> None:
    memories = [made("twin", number) for number in range(CLIENTS)]
    async with pair[0].client() as first, pair[1].client() as second:
        answers = await asyncio.gather(*(store(client, memory) for memory in memories for client in (first, second)))
        assert {answer.status_code for answer in answers} == {201}
        assert held(data_dir) == sorted(memories)
        assert await forgotten(first, memories) == await forgotten(second, memories) == []
    assert halves(data_dir) == {}


@pytest.mark.parametrize("attempt", range(2))
async def test_two_processes_started_at_once_on_an_empty_directory_share_it(
    spawn: Spawn, data_dir: Path, attempt: int
) -> None:
    pair = [spawn(AUTH_SECRETS=""), spawn(AUTH_SECRETS="")]
    await asyncio.gather(*(server.ready() for server in pair))
    (secret,) = secrets_in(data_dir)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    token = Credentials({"local": secret.read_text("ascii")}).issue("test", now=time.time_ns() // 1_000_000)
    for server in pair:
        async with server.client(token) as client:
            assert (await store(client, made("shared", attempt))).status_code == 201
            assert await forgotten(client, [made("shared", attempt)]) == []
    assert held(data_dir) == [made("shared", attempt)]
    applied = rows_of(data_dir, "d1_migrations", "name")
    assert len(set(applied)) == len(applied)


def secrets_in(data_dir: Path) -> list[Path]:
    return list(data_dir.glob("auth-secret*"))


async def test_an_erasure_goes_on_at_once_where_the_process_that_held_the_lease_was_killed(
    spawn: Spawn, data_dir: Path
) -> None:
    first = spawn()
    await first.ready()
    async with first.client() as client:
        assert (await store(client, made("gone", 1))).status_code == 201

    async def leased() -> bool:
        return bool(rows_of(data_dir, "lease", name="indexer"))

    await until(leased)
    second = spawn()
    await second.ready()
    first.kill()

    async def released() -> bool:
        return "leases_of_dead_process" in second.log.read_text()

    await until(released)
    async with second.client() as client:
        operation = (await client.delete(f"/agents/{made('gone', 1).agent_id}")).json()

        async def erased() -> bool:
            return bool((await client.get(f"/operations/{operation['id']}")).json().get("receipt"))

        await until(erased)
