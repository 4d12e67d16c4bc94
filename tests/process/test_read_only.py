"""Data that may not be written: the process stays up, says so, and goes on once it may."""

import time
from pathlib import Path

import pytest

from app.services.access.credentials import Credentials
from tests.process.conftest import Spawn, Start
from tests.process.memories import forgotten, halves, made, store
from tests.process.server import Server

pytestmark = pytest.mark.thorough


def set_permissions(data_dir: Path, *, writable: bool, directory: bool = True) -> None:
    """Change who may write the files and, where wanted, the directory."""
    for path in data_dir.iterdir():
        path.chmod(0o600 if writable else 0o400)
    if directory:
        data_dir.chmod(0o700 if writable else 0o500)


def token_of(data_dir: Path) -> str:
    """Sign a credential with the data directory's own secret."""
    secret = (data_dir / "auth-secret").read_text("ascii")
    return Credentials({"local": secret}).issue("test", now=time.time_ns() // 1_000_000)


async def filled(server: Server, data_dir: Path, label: str) -> None:
    async with server.client(token_of(data_dir)) as client:
        for number in range(8):
            assert (await store(client, made(label, number))).status_code == 201


@pytest.mark.parametrize(
    ("killed", "directory"),
    [(True, False), (False, True)],
    ids=["files only, after a kill", "files and directory, after a stop"],
)
async def test_a_server_started_on_read_only_data_waits_and_recovers_by_itself(
    start: Start, spawn: Spawn, data_dir: Path, *, killed: bool, directory: bool
) -> None:
    before = await start(AUTH_SECRETS="")
    await filled(before, data_dir, "kept")
    if killed:
        before.kill()
    else:
        await before.stop()
    await before.ended()
    set_permissions(data_dir, writable=False, directory=directory)

    server = spawn(AUTH_SECRETS="")
    await server.listening()
    assert (await server.readiness()).status_code == 503
    async with server.client(token_of(data_dir)) as client:
        stored = await store(client, made("new", 0))
        recalled = await client.post("/recall", json={"agent_id": "agent-0", "query": "kept"})
        assert (await client.get("/healthz")).status_code == 200
        assert [(answer.status_code, answer.json()["code"]) for answer in (stored, recalled)] == [
            (503, "storage_read_only"),
            (503, "storage_read_only"),
        ]

        set_permissions(data_dir, writable=True)
        await server.ready()
        assert (await store(client, made("new", 0))).status_code == 201
        assert await forgotten(client, [made("new", 0), *(made("kept", number) for number in range(8))]) == []
    assert halves(data_dir) == {}


async def test_data_made_read_only_under_a_server_loses_nothing_that_was_acknowledged(
    start: Start, data_dir: Path
) -> None:
    server = await start(AUTH_SECRETS="")
    await filled(server, data_dir, "before")
    acknowledged = [made("before", number) for number in range(8)]
    set_permissions(data_dir, writable=False)
    async with server.client(token_of(data_dir)) as client:
        for number in range(8):
            # A file that is open already may still be written.
            answer = await store(client, made("during", number))
            assert answer.status_code == 201 or answer.json()["code"] == "storage_read_only"
            acknowledged += [made("during", number)] * (answer.status_code == 201)
        assert await forgotten(client, acknowledged) == []
        set_permissions(data_dir, writable=True)
        await server.ready()
        await filled(server, data_dir, "after")
        assert await forgotten(client, [*acknowledged, *(made("after", number) for number in range(8))]) == []
    assert halves(data_dir) == {}
