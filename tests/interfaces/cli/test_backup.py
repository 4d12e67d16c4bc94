"""The command that backs up the embedded default: what was acknowledged before it is in it, and it can be served."""

import asyncio
import os
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from app.adapters.local import backup as backups
from app.bootstrap import DATABASE_FILE
from app.domain.errors import DatabaseRejected, DatabaseUnavailable
from tests.interfaces.cli.line import Line
from tests.support.service import serving

SECRETS = {"AUTH_SECRETS": "a=a-secret-for-tests-of-forty-characters-x"}


def restored(line: Line, folder: Path) -> Line:
    """Return a command line on the backup, which takes the place of the data directory."""
    data = Path(line.environment["DATA_DIR"])
    data.rename(data.with_name("before"))
    folder.rename(data)
    return line


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in [folder, *folder.rglob("*")]}


async def called(line: Line, *arguments: str) -> str:
    """Run a command in a process of its own, beside what this one serves."""
    program = "from app.interfaces.cli import main; main()"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, *arguments), env=os.environ | line.environment, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    assert process.returncode == 0
    return told.decode()


@pytest.mark.thorough
async def test_beside_a_running_service_that_writes_the_backup_has_all_that_was_stored_before(
    line: Line, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    ending = asyncio.Event()
    text = {"Content-Type": "text/plain"}
    async with serving(Path(line.environment["DATA_DIR"])) as service:
        await service.store("what was stored before")
        put = await service.client.post("/blobs?agent_id=bot", content=b"bytes", headers=service.credential() | text)

        async def write() -> int:
            number = 0
            while not ending.is_set():
                await service.store(f"while it is copied, {number}")
                number += 1
            return number

        writing = asyncio.create_task(write())
        told = await called(line, "backup", str(copy))
        ending.set()
        assert await writing > 1
    assert f"The backup is in {copy}." in told
    assert not list(copy.rglob("*-wal"))
    assert modes(copy) == {0}
    async with serving(copy) as service:
        assert await service.contents("what was stored before", top_k=1) == ["what was stored before"]
        path = f"/blobs/{put.json()['blob_id']}?agent_id=bot"
        assert (await service.client.get(path, headers=service.credential())).content == b"bytes"
        await service.store("what comes after it")
        assert "what comes after it" in await service.contents("what comes after it")


def test_credentials_hold_at_what_was_restored(line: Line, tmp_path: Path) -> None:
    line.ok("store", "kept")
    token = line.ok("token", "--agent", "default").strip()
    secret = (Path(line.environment["DATA_DIR"]) / "auth-secret").read_text()
    assert token
    names = {file["name"] for file in line.json("backup", str(tmp_path / "copy"))["files"]}
    assert {DATABASE_FILE, "auth-secret"} <= names
    assert (tmp_path / "copy" / "auth-secret").read_text() == secret


def test_every_shard_is_in_the_backup(line: Line, tmp_path: Path) -> None:
    line.ok("store", "kept")
    line.ok("shard", "add", "second")
    names = {file["name"] for file in line.json("backup", str(tmp_path / "copy"))["files"]}
    assert {DATABASE_FILE, "shards/second.sqlite3"} <= names
    assert "second" in restored(line, tmp_path / "copy").ok("shard", "list")


def test_a_backup_replaces_nothing_and_leaves_nothing_half_done(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    assert "no database" in Line(tmp_path / "elsewhere").run("backup", str(copy)).stderr
    line.ok("store", "kept")
    copy.mkdir()
    refused = line.run("backup", str(copy))
    assert (refused.returncode, "already" in refused.stderr) == (1, True)
    assert not list(copy.iterdir())
    copy.rmdir()

    def broken(_: Path, target: Path) -> int:
        target.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.bootstrap.backups.back_up", broken)
    assert "No space left" in line.run("backup", str(copy)).stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("copy")] == []


def test_a_damaged_database_is_no_backup(tmp_path: Path) -> None:
    file = tmp_path / "damaged.sqlite3"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [[b"x" * 3000]] * 50)
    data = bytearray(file.read_bytes())
    data[8192 : 8192 + 64] = b"\xff" * 64
    file.write_bytes(data)
    with pytest.raises((DatabaseRejected, DatabaseUnavailable)):
        backups.back_up(file, tmp_path / "copy.sqlite3")


def test_on_cloudflare_there_is_nothing_to_do(line: Line, tmp_path: Path) -> None:
    account = {
        "CLOUDFLARE_ACCOUNT_ID": "0" * 32,
        "CLOUDFLARE_API_TOKEN": "x" * 40,
        "CLOUDFLARE_D1_DATABASE_ID": "0" * 8 + "-0000-4000-8000-" + "0" * 12,
    }
    answer = line.run("backup", str(tmp_path / "copy"), **account, **SECRETS)
    assert "Time Travel" in answer.stdout, answer.stderr
    assert not (tmp_path / "copy").exists()
