"""Stopping in the middle of work, and the reasons not to start."""

import asyncio
import signal
import socket
from itertools import count
from pathlib import Path

import httpx
import pytest

from tests.process.conftest import Start
from tests.process.memories import Memory, forgotten, halves, held, made, queued, store
from tests.process.server import SECRET, run
from tests.support.tables import at_rest, insert_rows

pytestmark = pytest.mark.thorough

CLIENTS = 8


@pytest.mark.parametrize("stop_after", [5, 40])
async def test_a_stop_answers_or_refuses_what_is_in_flight_and_leaves_nothing_to_do(
    start: Start, data_dir: Path, stop_after: int
) -> None:
    server = await start()
    numbers = count()
    acknowledged: list[Memory] = []
    async with server.client() as client:

        async def storing() -> None:
            while True:
                memory = made("late", next(numbers))
                try:
                    answer = await store(client, memory)
                except httpx.TransportError:
                    return
                assert answer.status_code == 201, answer.text
                acknowledged.append(memory)
                if len(acknowledged) == stop_after:
                    server.process.send_signal(signal.SIGTERM)

        await asyncio.gather(*(storing() for _ in range(CLIENTS)))
    assert await server.ended() == -signal.SIGTERM
    assert "Traceback" not in server.log.read_text()
    assert held(data_dir) == sorted(acknowledged)
    assert halves(data_dir) == {}
    assert queued(data_dir) == 0

    server = await start()
    async with server.client() as client:
        assert await forgotten(client, acknowledged) == []


async def test_ctrl_c_is_a_quiet_end(start: Start) -> None:
    server = await start()
    server.process.send_signal(signal.SIGINT)
    assert await server.ended() == 0
    log = server.log.read_text()
    assert "Aborted" not in log
    assert "Traceback" not in log


def test_a_port_in_use_is_named_without_a_traceback(data_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = run(data_dir, "serve", PORT=str(taken.getsockname()[1]))
    assert ended.returncode == 1
    assert "is taken" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_database_of_a_newer_version_is_left_alone(data_dir: Path, command: str) -> None:
    assert run(data_dir, "migrate").returncode == 0
    at_rest(
        data_dir / "memory.sqlite3",
        lambda database: insert_rows(database, "d1_migrations", {"name": "9999_future.sql"}),
    )
    ended = run(data_dir, command)
    assert ended.returncode == 1
    assert ended.stdout == ""
    (_, line) = ended.stderr.splitlines()  # the first says where the memories are
    assert "9999_future.sql" in line


@pytest.mark.parametrize(
    "secrets", ["test=too-short", "no-kid", f"test={SECRET},test={SECRET}", "test=" + "aaaa!bcdefg%" * 8]
)
def test_secrets_that_cannot_be_used_are_refused_in_one_line_that_does_not_show_them(
    data_dir: Path, secrets: str
) -> None:
    ended = run(data_dir, "serve", AUTH_SECRETS=secrets)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("Error: AUTH_SECRETS: ")
    assert "too-short" not in line
    assert "aaaa" not in line
    assert SECRET not in line


@pytest.mark.parametrize("secrets", ["", f"test={SECRET}"], ids=["own secret", "secret set"])
@pytest.mark.parametrize("command", [["serve"], ["store", "x"]], ids=lambda command: command[0])
def test_a_data_directory_that_is_a_file_is_named_in_one_line(data_dir: Path, command: list[str], secrets: str) -> None:
    data_dir.write_text("not a directory")
    ended = run(data_dir, *command, AUTH_SECRETS=secrets)
    assert ended.returncode == 1
    (_, line) = ended.stderr.splitlines()  # the first says where the memories are
    assert line.startswith("Error: ")
    assert str(data_dir) in line
    assert data_dir.read_text() == "not a directory"
