"""The log has a line for every request, and neither what was stored or asked nor a credential, whatever goes wrong."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from app.domain.errors import EmbeddingUnavailable
from app.observability.logs import configure_logging
from app.runtime.backends import Backends
from tests.interfaces.mcp.answers import refused
from tests.interfaces.mcp.connections import OF_MODES, ROOT, listening, log_of, over_http, over_stdio
from tests.observability.test_logs import events
from tests.process.forks import command
from tests.process.server import environment
from tests.support.doubles import FailingEmbedder
from tests.support.service import Service, serving

CONTENT = "the content that must stay out"
CALLS: Sequence[tuple[str, dict[str, Any]]] = (
    ("store_memory", {"content": CONTENT, "metadata": {"k": CONTENT}}),
    ("recall_memory", {"query": CONTENT, "filter": {"metadata": {"k": CONTENT}}}),
    ("store_memory", {"content": CONTENT, CONTENT: 1}),
    ("store_memory", {"content": f"{CONTENT}\0"}),
    ("store_memory", {"content": [CONTENT]}),
    ("store_memory", {"content": CONTENT * 2000}),
    ("recall_memory", {"query": CONTENT, "top_k": CONTENT}),
    ("recall_memory", {"query": CONTENT, "filter": {"created_after": CONTENT}}),
)
MESSAGES = (
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "store_memory", "arguments": "%s"}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["%s"], "arguments": {}}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "%s"}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ["%s"]}}',
    b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": "%s"}',
    b'[{"jsonrpc": "2.0", "%s": 1}]',
    b'{"%s',
)
"""Of a form that the protocol does not have."""


@pytest.fixture(autouse=True)
def _to_standard_error() -> None:
    configure_logging("json", "debug")


async def all_calls(client: Client) -> None:
    """Make calls that succeed, calls that fail, and one of a tool that is not there."""
    for tool, arguments in CALLS:
        await client.call_tool(tool, arguments)
    with pytest.raises(MCPError):
        await client.call_tool("forget", {"content": CONTENT})
    await client.list_tools()


def assert_kept_out(written: str, credential: str) -> None:
    assert CONTENT not in written
    assert credential not in written
    assert credential.split(".")[1] not in written


def bearer(service: Service) -> str:
    return service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize("mode", OF_MODES)
async def test_a_message_is_one_line_with_its_route_tenant_and_status(
    service: Service, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with over_http(service, service.credential(agent="bot"), mode) as client:
        capsys.readouterr()
        await all_calls(client)
    strange = await service.client.post("/mcp", content=b"{}", headers={"Authorization": "Bearer x"})
    assert strange.status_code == 401
    written = capsys.readouterr().err
    *lines, stranger = [event for event in events(written) if event["event"] == "request"]
    assert len(lines) >= len(CALLS) + 2
    assert {(line["route"], line["tenant"], line["method"]) for line in lines} == {("/mcp", "acme", "POST")}
    assert {line["status"] for line in lines} <= {200, 202, 400}
    assert {type(line["status"]) for line in lines} == {int}
    assert (stranger["route"], stranger["status"], "tenant" in stranger) == ("/mcp", 401, False)
    assert {event["event"] for event in events(written)} == {"request"}
    assert_kept_out(written, bearer(service))


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_a_message_of_another_form_leaves_nothing_of_itself_and_is_no_defect(
    service: Service, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = service.credential(agent="bot") | {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "MCP-Protocol-Version": version,
    }
    for message in MESSAGES:
        answer = await service.client.post("/mcp", content=message % CONTENT.encode(), headers=headers)
        assert answer.status_code < 500
        assert answer.status_code != 401
    written = capsys.readouterr().err
    assert "defect" not in {event["event"] for event in events(written)}
    assert_kept_out(written, bearer(service))


@pytest.mark.parametrize("mode", OF_MODES)
async def test_an_outage_is_logged_and_a_defect_with_its_traceback_which_no_caller_sees(
    tmp_path: Path, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    embedders: list[FailingEmbedder] = []

    def failing(ports: Backends) -> Backends:
        embedders.append(FailingEmbedder(ports.embedder))
        return replace(ports, embedder=embedders[0])

    async with (
        serving(tmp_path, change=failing) as service,
        over_http(service, service.credential(agent="bot"), mode) as client,
    ):
        embedders[0].error = EmbeddingUnavailable("The embedder does not answer.")
        await refused(client, "store_memory", content=CONTENT)
        embedders[0].error = RuntimeError("nobody saw this coming")
        with pytest.raises(MCPError, match="tell the operator") as raised:
            await client.call_tool("store_memory", {"content": CONTENT})
        assert raised.value.data == {"code": "internal_error"}
        assert "coming" not in raised.value.message
    written = capsys.readouterr().err
    told = {event["event"]: event for event in events(written)}
    assert (told["unavailable"]["code"], told["unavailable"]["level"]) == ("embedding_unavailable", "warning")
    assert told["defect"]["method"] == "tools/call"
    assert "RuntimeError: nobody saw this coming" in told["defect"]["exception"]
    assert CONTENT not in written


async def test_the_command_writes_neither_to_standard_error(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with over_stdio(data_dir, "--agent", "bot", LOG_LEVEL="debug") as client:
        await all_calls(client)
    written = log_of(data_dir)
    assert events(written)
    assert CONTENT not in written


async def test_the_command_that_passes_on_writes_neither(service: Service, tmp_path: Path) -> None:
    token = bearer(service)
    data_dir = tmp_path / "data"
    passing_on = partial(over_stdio, data_dir, LOG_LEVEL="debug", MEMORY_GATEWAY_TOKEN=token)
    async with listening(service.app) as url, passing_on("--url", url) as client:
        await all_calls(client)
    async with passing_on("--url", url) as client:  # which is gone now
        await refused(client, "store_memory", content=CONTENT)
    written = log_of(data_dir)
    assert [event["reason"] for event in events(written) if event["event"] == "gateway_away"] == ["ConnectError"]
    assert_kept_out(written, token)


def test_the_command_leaves_nothing_of_lines_that_are_no_messages(tmp_path: Path) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    lines = [json.dumps(hello).encode(), *(message % CONTENT.encode() for message in MESSAGES), b"\xff\xfe", b""]
    done = subprocess.run(
        command("mcp", "--agent", "bot"),
        env=environment(tmp_path / "data", PYTHONPATH=str(ROOT), LOG_LEVEL="debug"),
        cwd=tmp_path,
        input=b"\n".join(lines),
        capture_output=True,
        timeout=20,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "memory-gateway"
    assert CONTENT not in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
