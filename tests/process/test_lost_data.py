"""A database that was there and is not: it is refused by name, and nothing new takes its place."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process.conftest import Start
from tests.process.memories import made, store
from tests.process.server import run


async def filled(start: Start, data_dir: Path) -> None:
    server = await start()
    async with server.client() as client:
        assert (await store(client, made("kept", 0))).status_code == 201
    await server.stop()
    assert (data_dir / "memory.sqlite3").stat().st_size


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def empty(data_dir: Path) -> None:
    (data_dir / "memory.sqlite3").write_bytes(b"")


def remove(data_dir: Path) -> None:
    for path in data_dir.glob("memory.sqlite3*"):
        if path.is_file() and not path.name.endswith("-made"):
            path.unlink()


def remove_with_its_mark(data_dir: Path) -> None:
    """Leave what else is there: blobs, as an older version left them."""
    for path in data_dir.glob("memory.sqlite3*"):
        if path.is_file():
            path.unlink()
    (data_dir / "blobs" / "one").mkdir(parents=True)


@pytest.mark.parametrize("lose", [empty, remove, pytest.param(remove_with_its_mark, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "arguments", [("serve",), pytest.param(("serve", "--quickstart"), marks=pytest.mark.thorough), ("usage",)]
)
async def test_a_lost_database_is_refused_by_name_and_left_as_it_is(
    start: Start, data_dir: Path, lose: Callable[[Path], None], arguments: tuple[str, ...]
) -> None:
    await filled(start, data_dir)
    lose(data_dir)
    before = names(data_dir)
    ended = run(data_dir, *arguments)
    assert ended.returncode not in {0, -9}
    assert "memory.sqlite3" in ended.stderr
    assert "begin anew" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert names(data_dir) == before


async def test_a_folder_that_vanishes_under_a_server_is_told_by_readiness_and_by_requests(
    start: Start, data_dir: Path
) -> None:
    server = await start()
    async with server.client() as client:
        assert (await store(client, made("kept", 0))).status_code == 201
        shutil.rmtree(data_dir)
        ready = await server.readiness()
        stored = await store(client, made("kept", 1))
        recalled = await client.post("/recall", json={"agent_id": "agent-0", "query": "kept"})
    assert ready.status_code == 503
    assert "database_lost" in {part.get("code") for part in ready.json()["parts"]}
    assert [(answer.status_code, answer.json()["code"]) for answer in (stored, recalled)] == [
        (503, "database_lost"),
        (503, "database_lost"),
    ]
    assert names(data_dir.parent) == ["server-0.log"]
