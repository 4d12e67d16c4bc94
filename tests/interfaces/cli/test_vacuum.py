"""The command that gives free room of the files back to the disk."""

import asyncio
import json
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

from app.bootstrap import DATABASE_FILE
from tests.interfaces.cli.line import Line
from tests.support.service import serving


@pytest.fixture
def emptied(line: Line) -> Line:
    """Hold a memory in a file of which most is free."""
    line.ok("store", "what is kept")
    with sqlite3.connect(file_of(line)) as connection:
        connection.execute("CREATE TABLE filler (x)")
        connection.executemany("INSERT INTO filler VALUES (?)", [[b"x" * 4000]] * 3000)
    with sqlite3.connect(file_of(line)) as connection:
        connection.execute("DROP TABLE filler")
    return line


SECRETS = {"AUTH_SECRETS": "a=a-secret-for-tests-of-forty-characters-x"}


def file_of(line: Line) -> Path:
    return Path(line.environment["DATA_DIR"]) / DATABASE_FILE


def test_free_room_is_told_by_the_doctor_and_given_back(emptied: Line) -> None:
    told = emptied.run("doctor").stdout
    assert "warn  file: " in told
    assert "memory-gateway vacuum" in told
    (vacuumed,) = emptied.json("vacuum")["files"]
    assert (vacuumed["shard"], vacuumed["before"] > 12_000_000) == ("main", True)
    assert vacuumed["after"] < 4_000_000
    assert file_of(emptied).stat().st_size == vacuumed["after"]
    assert "file: " not in emptied.run("doctor").stdout
    assert "what is kept" in emptied.ok("recall", "what is kept")
    assert "main: " in emptied.ok("vacuum")


async def test_beside_a_running_service_it_refuses_and_changes_nothing(emptied: Line) -> None:
    before = file_of(emptied).stat().st_size
    async with serving(file_of(emptied).parent) as service:
        command = ("-c", "from app.interfaces.cli import main; main()", "vacuum")

        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, env=emptied.environment, stderr=asyncio.subprocess.PIPE
        )
        _, told = await process.communicate()
        assert process.returncode == 1
        assert b"Stop the service" in told
        await service.store("goes on")
    assert file_of(emptied).stat().st_size >= before


def test_without_room_on_the_disk_it_refuses_and_says_how_much_it_needs(
    emptied: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage(NamedTuple):
        free: int = 1000

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage())
    before = file_of(emptied).stat().st_size
    told = emptied.fails("vacuum")
    assert "MB free" in told
    assert "Nothing was changed" in told
    assert file_of(emptied).stat().st_size == before


def test_where_there_is_no_database_yet_none_is_made(new_line: Line) -> None:
    assert "no database" in new_line.fails("vacuum")
    assert not file_of(new_line).exists()


def test_on_cloudflare_it_says_that_there_is_nothing_to_do(line: Line) -> None:
    account = {
        "CLOUDFLARE_ACCOUNT_ID": "0" * 32,
        "CLOUDFLARE_API_TOKEN": "t",
        "CLOUDFLARE_D1_DATABASE_ID": str(uuid4()),
    }
    done = line.run("vacuum", "--json", **account, **SECRETS)
    assert json.loads(done.stdout) == {"files": []}
    assert "D1" in line.run("vacuum", **account, **SECRETS).stdout
