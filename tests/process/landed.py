"""Versions that were landed once, run from the history of the repository."""

import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from tests.process.server import Server, environment, until

_READY_SECONDS = 90
"""Such a version imports everything: no other process has done so for it."""
_ROOT = Path(__file__).parents[2]
_COMMAND = "from app.interfaces.cli import main; main()"


def code_of(commit: str, folder: Path) -> Path:
    """Put the code of a version into a folder, and return it; the test fails where the history lacks it."""
    git = ["git", "-C", str(_ROOT), "archive", "--format=tar", commit, "app"]
    done = subprocess.run(git, capture_output=True, check=False)
    if done.returncode != 0:
        told = done.stderr.decode().strip()
        pytest.fail(
            f"The commit {commit} cannot be read ({told}). This test runs that version, and needs the history: "
            "git fetch --unshallow, or a checkout with all commits."
        )
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def migrations(code: Path) -> set[str]:
    """Return the names of the migrations that a version knows."""
    return {file.name for file in (code / "app" / "storage" / "migrations").rglob("*.sql")}


async def ready(server: Server) -> None:
    """Wait until a version is ready. One of them closes connections while it starts."""
    await server.listening(_READY_SECONDS)

    async def is_ready() -> bool:
        try:
            return (await server.readiness()).status_code == HTTPStatus.OK
        except httpx.TransportError:
            return False

    await until(is_ready, seconds=_READY_SECONDS)


@contextmanager
def serving(code: Path, data_dir: Path, log: Path) -> Iterator[Server]:
    """Start a version as a server, and kill it in the end."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, "serve"],
            cwd=log.parent,
            env=environment(data_dir) | {"PYTHONPATH": str(code)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield Server(data_dir, process, log)
    finally:
        process.kill()
        process.wait()
