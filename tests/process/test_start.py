"""What a server has loaded once it listens, of which its start and its memory at rest are made."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.interfaces.http.application import openapi_document
from tests.process.server import environment

LATER = {
    "app.interfaces.cli.transfer": "its command",
    "app.interfaces.console.endpoint": "the first request of the console",
    "app.interfaces.mcp.server": "the first message over MCP",
    "authlib": "nothing: tests alone have it",
    "fastapi_swagger": "the first look at /docs",
    "httpx2": "the first message over MCP",
    "jinja2": "the first page of the console",
    "mcp": "the first message over MCP",
    "mcp_types": "the first message over MCP",
    "obstore": "the first object",
    "opentelemetry.sdk": "traces, where they are set",
    "requests": "nothing: no key is tried out",
    "rich.console": "nothing: what would use it is loaded without",
    "snowballstemmer": "the first question whose event is looked for",
    "torch": "nothing: training alone has it",
}
"""Packages and modules that a server does not load before what is named beside them."""

_LISTENS = """
import gc, json, os, signal, sys
import click
def told(text, **_):
    if "is ready on" not in text:
        return
    found = {"modules": [*sys.modules], "looks": gc.isenabled(), "frozen": gc.get_freeze_count()}
    from app.interfaces.http.application import openapi_document
    print(json.dumps({**found, "document": openapi_document()}), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
click.echo = told
from app.interfaces.command import main
sys.argv = ["memory-gateway", "serve", "--quickstart", "--port", "0"]
main()
"""


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("start")
    settings = environment(folder / "data", EMBEDDER="local", READER="local", WORKERS="1")
    done = subprocess.run(
        [sys.executable, "-c", _LISTENS],
        env=settings,
        cwd=Path.cwd(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    found: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"modules"')))
    return found


@pytest.mark.thorough
def test_a_server_that_listens_has_loaded_nothing_that_a_later_call_needs(listening: dict[str, Any]) -> None:
    loaded = {*listening["modules"]}
    assert "app.adapters.local.transformer" in loaded
    assert {name: LATER[name] for name in LATER.keys() & loaded} == {}


@pytest.mark.thorough
def test_what_a_server_is_made_of_is_not_looked_through_for_garbage(listening: dict[str, Any]) -> None:
    assert listening["looks"], "what requests leave is looked for"
    assert listening["frozen"] > 100_000


@pytest.mark.thorough
def test_a_server_that_builds_the_models_of_its_document_late_describes_the_same(listening: dict[str, Any]) -> None:
    assert json.dumps(listening["document"]) == json.dumps(openapi_document())
