"""The example in TypeScript, by the commands of its README, against the service as it starts without settings."""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.services.access.credentials import Credentials
from tests.conformance.toolchain import EXAMPLE, NODE
from tests.deploy.commands import invocations, refusal, shell_lines
from tests.process.conftest import Start, data_dir, spawn, start
from tests.process.server import SECRET, Server

__all__ = ["data_dir", "spawn", "start"]
_SECONDS = 60
*PREPARATION, TYPES, CHECK, RUN = shell_lines((EXAMPLE / "README.md").read_text(encoding="utf-8"))
CONTENT = "The customer prefers invoices in Swedish"


@dataclass(frozen=True, slots=True)
class Example:
    """A copy of the example, and the service it calls."""

    folder: Path
    server: Server

    def sh(self, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the README."""
        ours = {
            "HOME": str(self.folder),
            "PATH": f"{NODE.parent}:{os.environ['PATH']}",
            "npm_config_offline": "true",
            "MEMORY_GATEWAY_URL": self.server.url,
            "MEMORY_GATEWAY_TOKEN": Credentials({"test": SECRET}).issue("test", now=time.time_ns() // 1_000_000),
        }
        return subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=ours | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def ok(self, command: str) -> str:
        """Run a command that must succeed and return what it prints."""
        done = self.sh(command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
async def example(tmp_path: Path, start: Start) -> Example:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("node_modules", "schema.d.ts"))
    (folder / "node_modules").symlink_to(EXAMPLE / "node_modules")
    return Example(folder, await start(EMBEDDER="auto"))


async def test_the_example_compiles_against_the_services_document_and_prints_what_it_stored(example: Example) -> None:
    example.ok(TYPES)
    assert example.ok(CHECK) == ""
    score, day, content = example.ok(RUN).rstrip("\n").split(" ", 2)
    assert 0 < float(score) <= 1
    assert content == CONTENT
    async with example.server.client() as client:
        listed = (await client.get("/memories", params={"agent_id": "default"})).json()["memories"]
    assert [(memory["content"], memory["metadata"]) for memory in listed] == [(CONTENT, {"source": "example"})]
    assert listed[0]["created_at"].startswith(f"{day}T")


@pytest.mark.parametrize(
    ("right", "wrong", "error"),
    [
        ("agent_id, query,", "agent: agent_id, query,", "'agent_id' is missing"),
        ("top_k: 3", 'top_k: "3"', "Type 'string' is not assignable to type 'number'"),
        ("entry.score", "entry.rank", "Property 'rank' does not exist"),
        ('{ source: "example" }', '"example"', "metadata: string; }' is not assignable"),
    ],
)
async def test_what_the_service_does_not_have_does_not_compile(
    example: Example, right: str, wrong: str, error: str
) -> None:
    file = example.folder / "memory.ts"
    code = file.read_text(encoding="utf-8")
    assert code.count(right) == 1
    file.write_text(code.replace(right, wrong), encoding="utf-8")
    example.ok(TYPES)
    checked = example.sh(CHECK)
    assert checked.returncode != 0
    assert error in checked.stdout


@pytest.mark.parametrize(
    ("command", "environment", "told"),
    [
        (RUN, {"MEMORY_GATEWAY_TOKEN": "another"}, "unauthenticated: "),
        (RUN.replace(CONTENT, " "), {}, "invalid_request: content must not be blank."),
    ],
)
async def test_a_refused_call_is_told_with_its_code(
    example: Example, command: str, environment: dict[str, str], told: str
) -> None:
    refused = example.sh(command, **environment)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(told)


def test_the_readme_prepares_it_with_commands_there_are() -> None:
    (words,) = invocations(PREPARATION)
    assert refusal(words) is None
    assert PREPARATION[-2:] == ["cd clients/typescript", "npm install"]


def test_an_older_node_is_told_which_version_is_needed(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / ".npmrc", tmp_path)
    package = json.loads((EXAMPLE / "package.json").read_text(encoding="utf-8"))
    newer = package | {"engines": {"node": ">=99.0"}}
    (tmp_path / "package.json").write_text(json.dumps(newer), encoding="utf-8")
    install = ["npm", "install", "--offline", "--no-audit", "--no-fund"]
    done = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode != 0
    assert 'Required: {"node":">=99.0"}' in done.stderr
