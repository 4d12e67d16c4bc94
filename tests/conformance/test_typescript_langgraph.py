"""The npm package's store for LangGraph.js, of its archive, against LangGraph's own store and a running service."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conformance.npm_package import Project, archive, ran
from tests.conformance.test_typescript_agents import STRICT, TESTS
from tests.conformance.toolchain import CLIENT, NEWER_NODE
from tests.process.conftest import Start, data_dir, spawn, start
from tests.process.server import credential

__all__ = ["archive", "data_dir", "spawn", "start"]


@pytest.fixture
def project(tmp_path: Path, archive: Path) -> Project:
    project = Project.new(tmp_path / "project", archive, "@types", "@langchain")
    project.write("package.json", '{"private": true, "type": "module"}')
    shutil.copy(CLIENT / "examples" / "langgraph.ts", project.folder)
    return project


async def test_the_store_does_what_langgraphs_own_does(project: Project, start: Start) -> None:
    for file in ("langgraph.test.ts", "suite.ts", "service.ts"):
        shutil.copy(TESTS / file, project.folder)
    told = {"MEMORY_GATEWAY_URL": (await start(EMBEDDER="auto")).url, "MEMORY_GATEWAY_AGENT": "assistant"}
    told |= {"MEMORY_GATEWAY_TOKEN": credential(), "MEMORY_GATEWAY_ADMIN": credential(admin=True)}
    project.node("--test", "langgraph.test.ts", node=NEWER_NODE, **told)
    alone = told | {"MEMORY_GATEWAY_TOKEN": credential(agent_id="assistant")}
    assert project.node("langgraph.ts", "ann", "has a dog", node=NEWER_NODE, **alone) == "has a dog\n"
    assert project.node("langgraph.ts", "ann", node=NEWER_NODE, **alone) == "has a dog\n"


def test_the_example_compiles_against_the_vendors_types(project: Project) -> None:
    project.write("tsconfig.json", json.dumps({"compilerOptions": STRICT, "files": ["langgraph.ts"]}))
    assert ran(CLIENT / "node_modules" / ".bin" / "tsc", "-p", ".", within=project.folder) == ""
