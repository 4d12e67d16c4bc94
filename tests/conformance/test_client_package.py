"""The Python client, built and installed from its wheel into an empty environment, works and is typed there.

It needs a package index.
"""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import anyio.to_thread
import pytest

from tests.process.server import Server, credential

ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio

from memory_gateway_client import AsyncMemoryClient, MemoryClient, Recall


def waited(memory: MemoryClient) -> Recall:
    memory.store("Ann is allergic to nuts", metadata={"of": "Ann"})
    memory.ingest([{"role": "user", "content": "I work in Oslo"}])
    print(memory.ask("Where do I work?").cited)
    return memory.recall("What must Ann not eat?", top_k=1)


async def copied() -> int:
    async with AsyncMemoryClient() as memory:
        async for line in memory.import_memories(memory.export_memories()):
            last = line
    unchanged: int = last["unchanged"]
    return unchanged


with MemoryClient() as client:
    print(waited(client).entries[0].content)
print(asyncio.run(copied()))
"""
"""What a user writes."""
WRONG = """
from memory_gateway_client import MemoryClient

MemoryClient().recall("tea", k=3)
MemoryClient().store(4711)
text: int = MemoryClient().ask("tea").answer
"""
"""What a type checker is to find."""


class Project:
    """An environment that has the client, and nothing else that it does not need, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = str(folder / "made" / "bin" / "python")
        self.run(sys.executable, "-m", "venv", "made")
        wheels = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", str(ROOT / "clients" / "python")]
        self.run(self.python, *wheels)
        (wheel,) = (folder / "dist").glob("*.whl")
        self.run(self.python, "-m", "pip", "install", "--quiet", str(wheel))

    def run(self, *command: str, succeeds: bool = True, variables: Mapping[str, str] | None = None) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_GATEWAY_", "PYTHON"))}
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**kept, **(variables or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (done.returncode == 0) is succeeds, done.stdout + done.stderr
        return done.stdout

    def checked(self, program: str, *, succeeds: bool = True) -> str:
        """Hold a program against the types of the installed client, as strictly as mypy does."""
        (self.folder / "program.py").write_text(program)
        options = ["--strict", "--config-file=", "--cache-dir=cache", "--python-executable", self.python]
        return self.run(sys.executable, "-m", "mypy", *options, "program.py", succeeds=succeeds)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("project"))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    server = Server.spawn(tmp_path / "data", tmp_path / "log")
    await server.ready()
    yield server
    await server.stop()


async def test_a_program_runs_with_the_wheel_alone(project: Project, server: Server) -> None:
    variables = {
        "MEMORY_GATEWAY_URL": server.url,
        "MEMORY_GATEWAY_TOKEN": credential(admin=True),
        "MEMORY_GATEWAY_AGENT": "ann",
    }

    def running() -> str:
        return project.run(project.python, "-W", "error", "-c", PROGRAM, variables=variables)

    cited, content, unchanged = (await anyio.to_thread.run_sync(running)).splitlines()
    assert cited.startswith("('")
    assert (content, unchanged) == ("Ann is allergic to nuts", "2")


def test_a_type_checker_knows_the_wheel(project: Project) -> None:
    assert "Success" in project.checked(PROGRAM)
    found = project.checked(WRONG, succeeds=False)
    assert '"k"' in found
    assert found.count("error:") == 3
