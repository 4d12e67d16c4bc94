"""The adapters of the npm package, of its archive, in agents of their vendors and against a running service."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conformance.npm_package import Project, archive, ran
from tests.conformance.toolchain import CLIENT, NEWER_NODE
from tests.process.conftest import Start, data_dir, spawn, start
from tests.process.server import Server, credential

__all__ = ["archive", "data_dir", "spawn", "start"]

ADAPTERS = {
    "ai-sdk": ["ai"],
    "langchain": ["@langchain"],
    "mastra": ["@mastra"],
    "openai-agents": ["@openai"],
    "anthropic": ["@anthropic-ai"],
    "claude-agent": ["@anthropic-ai", "@modelcontextprotocol"],
}
"""The adapters, and what is installed of the vendor of each."""
TESTS = Path(__file__).with_name("typescript")
STRICT = {
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "skipLibCheck": True,  # of the vendors' own declarations
    "noEmit": True,
    "target": "es2023",
    "lib": ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
    "module": "nodenext",
    "types": ["node"],
}


_SLOW = {"mastra", "openai-agents", "claude-agent"}
"""Adapters that are proved in `make soak` alone: a run of these loads or starts tens of megabytes of their vendor's."""


@pytest.fixture(params=[pytest.param(each, marks=[pytest.mark.long] * (each in _SLOW)) for each in ADAPTERS])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(tmp_path: Path, archive: Path, name: str) -> Project:
    project = Project.new(tmp_path / "project", archive, "@types", *ADAPTERS[name])
    project.write("package.json", '{"private": true, "type": "module"}')
    shutil.copy(CLIENT / "examples" / f"{name}.ts", project.folder)
    return project


def told(server: Server) -> dict[str, str]:
    """Return the variables by which a program finds the service."""
    return {"MEMORY_GATEWAY_URL": server.url, "MEMORY_GATEWAY_TOKEN": credential(), "MEMORY_GATEWAY_AGENT": "assistant"}


async def test_the_example_knows_tomorrow_what_was_said_today(project: Project, start: Start, name: str) -> None:
    variables = told(await start(EMBEDDER="auto"))

    def say(words: str) -> str:
        return project.node(f"{name}.ts", words, node=NEWER_NODE, **variables).rstrip("\n")

    assert say("What is my dog called?") == "You have not told me that."
    assert say("My dog is called Rex") == "I will keep that in mind."
    assert say("What is my dog called?") == "You told me: My dog is called Rex"
    variables["MEMORY_GATEWAY_TOKEN"] = "another"
    assert say("What is my dog called?") == "My memory is unavailable."


def test_the_example_compiles_against_the_vendors_types(project: Project, name: str) -> None:
    project.write("tsconfig.json", json.dumps({"compilerOptions": STRICT, "files": [f"{name}.ts"]}))
    assert ran(CLIENT / "node_modules" / ".bin" / "tsc", "-p", ".", within=project.folder) == ""


async def test_the_adapter_does_what_every_adapter_does(project: Project, start: Start, name: str) -> None:
    for file in (f"{name}.test.ts", "suite.ts", "service.ts"):
        shutil.copy(TESTS / file, project.folder)
    variables = told(await start(EMBEDDER="auto")) | {"MEMORY_GATEWAY_ADMIN": credential(admin=True)}
    del variables["MEMORY_GATEWAY_AGENT"]
    project.node("--test", f"{name}.test.ts", node=NEWER_NODE, **variables)
