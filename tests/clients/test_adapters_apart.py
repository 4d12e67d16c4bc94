"""The adapters whose frameworks live in environments of their own: their tests and their types, with what is there."""

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio.to_thread
import pytest

from tests.clients.apart import TOKEN, URL
from tests.clients.environments import environments, living, python_of
from tests.process.server import Server, credential

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.thorough

CHECKED = """
[mypy]
strict = true
enable_error_code = ignore-without-code, redundant-expr, truthy-bool
mypy_path = {root}/clients/python:{root}
"""


@pytest.fixture(params=environments())
def environment(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    server = Server.spawn(folder / "data", folder / "log")
    await server.ready()
    yield server
    await server.stop()


async def run(command: list[str], folder: Path, **variables: str) -> str:
    """Run a command that succeeds, and return what it prints."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}

    def running() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, cwd=folder, env=kept | variables, capture_output=True, text=True, check=False, timeout=600
        )

    done = await anyio.to_thread.run_sync(running)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def test_the_adapters_pass_their_tests_there_and_skip_none(
    environment: str, server: Server, tmp_path: Path
) -> None:
    python = python_of(environment)
    options = [
        "-q",
        "--noconftest",
        "-p",
        "tests.clients.apart",
        "--rootdir",
        str(ROOT),
        "-c",
        str(ROOT / "pyproject.toml"),
    ]
    said = await run(
        [python, "-m", "pytest", *options, *map(str, living(environment))],
        tmp_path,
        PYTHONPATH=f"{ROOT}:{ROOT / 'clients' / 'python'}",
        HOME=str(tmp_path),
        **{URL: server.url, TOKEN: credential(admin=True)},
    )
    assert re.search(r"\d+ passed", said)
    assert "skipped" not in said


@pytest.mark.long
async def test_the_adapters_keep_the_types_of_their_frameworks(environment: str, tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text(CHECKED.format(root=ROOT))
    where = ["--config-file", "mypy.ini", "--cache-dir", "cache", "--python-executable", python_of(environment)]
    said = await run([sys.executable, "-m", "mypy", *where, *map(str, living(environment))], tmp_path)
    assert "Success" in said
