"""What generators make of the OpenAPI document works, by the commands of docs/clients.md, against a running service."""

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.services.access.credentials import Credentials
from tests.conformance.toolchain import GENERATORS, NODE, TSC, missing_generators
from tests.deploy.commands import shell_lines
from tests.process.conftest import Start, data_dir, spawn, start
from tests.process.server import SECRET, Server
from tests.services.transfer.corpus import file_of, numbered

__all__ = ["data_dir", "spawn", "start"]
ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("generated")
PREPARATION, *COMMANDS = shell_lines((ROOT / "docs" / "clients.md").read_text("utf-8"))
METADATA: dict[str, Any] = {
    "text": "ä",
    "integer": 4711,
    "wide": 2**40,
    "float": 2.5,
    "yes": True,
    "no": False,
    "nothing": None,
    "list": [1, "two", None, [3.5, {"four": []}]],
    "object": {"deep": {"deeper": [True, {}]}},
}
GIVEN = {"metadata": METADATA, "data": {"yes": True}, "lines": file_of(numbered(2, agent_id="other")).decode()}
SECONDS = 600
"""Go compiles its standard library when it is first used."""


@pytest.fixture(autouse=True)
def _generators() -> None:
    if tools := missing_generators():
        pytest.skip(f"not installed: {', '.join(tools)}; run make conformance on a machine with java and PyPI")


@dataclass(frozen=True, slots=True)
class Workshop:
    """A folder in which clients are made, and the service that they call."""

    folder: Path
    server: Server

    def run(self, *command: str, within: str = ".", **environment: str) -> str:
        """Run a command that must succeed and return what it prints."""
        now = time.time_ns() // 1_000_000
        ours = {
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{GENERATORS}:{os.environ['PATH']}",
            "GOCACHE": str(GENERATORS.parent / "go-cache"),
            "GOFLAGS": "-mod=mod",
            "GOPROXY": "off",
            "MEMORY_GATEWAY_URL": self.server.url,
            "URL": self.server.url,
            "TOKEN": Credentials({"test": SECRET}).issue("test", now=now, admin=True),
            "GIVEN": json.dumps(GIVEN),
        }
        done = subprocess.run(
            command,
            cwd=self.folder / within,
            env=ours | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def make(self, part: str) -> str:
        """Generate a client with the one command of the document that has this part; return what it says."""
        (command,) = (each for each in COMMANDS if re.search(rf"{re.escape(part)}\b", each))
        return self.run("/bin/sh", "-c", f"{command} 2>&1")

    def add(self, program: str, folder: str = ".") -> None:
        """Put a program beside a client."""
        shutil.copy(PROGRAMS / program, self.folder / folder)


@pytest.fixture
async def workshop(tmp_path: Path, start: Start) -> Workshop:
    (tmp_path / "clients").mkdir()
    server = await start()
    # The document is made when it is first asked for, and openapi-python-client waits for five seconds only.
    async with httpx.AsyncClient(timeout=SECONDS, trust_env=False) as client:
        assert (await client.get(f"{server.url}/openapi.json")).is_success
    return Workshop(tmp_path / "clients", server)


def holds(printed: str, *, imported: int = 2) -> None:
    """Check what a program was answered."""
    answers = json.loads(printed)
    assert answers["stored"] is True
    assert answers["recalled"] == answers["listed"] == [METADATA]
    assert json.loads(answers["report"].splitlines()[-1])["imported"] == imported
    *_, end = map(json.loads, answers["exported"].splitlines())
    assert (end["type"], end["memories"]) == ("end", 1 + imported)
    assert answers["tiers"] == [METADATA, 1, METADATA, True]
    (assembled,) = answers["assembled"]
    assert "a white owl" in assembled
    assert answers["refused"] == [422, "invalid_request", ["expires_at"]]


async def test_openapi_python_client_leaves_nothing_out_and_works(workshop: Workshop) -> None:
    assert "warning" not in workshop.make("openapi-python-client generate").lower()
    program = str(PROGRAMS / "openapi_python_client.py")
    holds(workshop.run("python", program, PYTHONPATH=str(workshop.folder)))


async def test_the_generator_of_python_works(workshop: Workshop) -> None:
    workshop.make("-g python")
    holds(workshop.run("python", str(PROGRAMS / "python.py"), PYTHONPATH=str(workshop.folder / "python-client")))


async def test_the_generator_of_typescript_works_and_its_types_hold(workshop: Workshop) -> None:
    workshop.make("-g typescript-fetch")
    workshop.add("program.ts")
    options = ["--strict", "--target", "es2023", "--module", "nodenext", "--lib", "es2023,dom", "--types", ""]
    workshop.run(str(NODE), str(TSC), *options, "--outDir", "out", "program.ts")
    holds(workshop.run(str(NODE), "out/program.js"))


@pytest.mark.long
async def test_the_generator_of_go_works(workshop: Workshop) -> None:
    workshop.make("-g go")
    (workshop.folder / "go-client" / "program").mkdir()
    workshop.add("program.go", "go-client/program")
    holds(workshop.run("go", "run", "./program", within="go-client"))


@pytest.mark.long
async def test_the_generator_of_java_works_but_for_imports(workshop: Workshop) -> None:
    """The packages of Maven that it needs are in the generator's own archive, but for an annotation.

    Its library ``native`` sends the name of a file in the place of its bytes; those of others are not to be had here.
    """
    workshop.make("-g java")
    (archive,) = GENERATORS.parent.glob("lib/python*/site-packages/openapi_generator_cli/openapi-generator.jar")
    workshop.add("Generated.java")
    workshop.add("Program.java")
    sources = [str(path) for path in (workshop.folder / "java-client" / "src" / "main").rglob("*.java")]
    classes = f"classes:{archive}"
    workshop.run("javac", "-d", "classes", "-cp", classes, "Generated.java", "Program.java", *sources)
    holds(workshop.run("java", "-cp", classes, "Program"), imported=0)


@pytest.mark.long
async def test_the_generator_of_java_makes_code_for_its_default_library_too(workshop: Workshop) -> None:
    """It is not compiled: what it needs comes from Maven alone."""
    document = f"{workshop.server.url}/openapi.json"
    workshop.run("openapi-generator-cli", "generate", "-i", document, "-g", "java", "-o", "default")
    api = workshop.folder / "default" / "src" / "main" / "java" / "org" / "openapitools" / "client" / "api"
    assert "Map<String, Object> metadata" in (api.parent / "model" / "StoreRequest.java").read_text("utf-8")
    assert "public File callImport(" in (api / "TransferApi.java").read_text("utf-8")


def test_the_document_installs_what_the_proofs_run() -> None:
    assert PREPARATION == "pip install openapi-python-client openapi-generator-cli"
    assert len(COMMANDS) == 5
    lock = (ROOT / "deploy" / "lock" / "generators.txt").read_text("utf-8")
    told = re.search(r"openapi-python-client ([\d.]+) and openapi-generator ([\d.]+)\.", _flat())
    assert told is not None
    for package, version in zip(("openapi-python-client", "openapi-generator-cli"), told.groups(), strict=True):
        assert f"\n{package}=={version}." in lock


def _flat() -> str:
    return " ".join((ROOT / "docs" / "clients.md").read_text("utf-8").split())
