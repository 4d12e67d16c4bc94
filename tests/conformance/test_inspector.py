"""The inspector's command line says what a server does, over both transports and in both eras of the protocol."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.inspector import Era, Inspector, InspectorError

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.conformance.mcp_tools"]
VERSIONS: dict[Era, str] = {"legacy": "2025-11-25", "modern": "2026-07-28"}
HEADERS = {"Authorization": "Bearer secret", "X-Agent-Id": "bot"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with subprocess.Popen([*COMMAND, "http"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> Era:
    era: Era = request.param
    return era


@pytest.fixture(params=[("http", "modern"), ("stdio", "legacy")], ids="-".join)
def inspector(request: pytest.FixtureRequest, tmp_path: Path, url: str) -> Inspector:
    transport, era = request.param
    if transport == "http":
        return Inspector.over_http(tmp_path, url, HEADERS, era)
    return Inspector.over_stdio(tmp_path, [*COMMAND, "stdio"], {"AGENT": "bot", "PYTHONPATH": str(ROOT)}, era)


def test_it_lists_the_tools(inspector: Inspector) -> None:
    tools = {tool["name"]: tool for tool in inspector.tools()}
    assert list(tools) == ["repeat", "fail", "lie"]
    assert tools["repeat"]["inputSchema"]["required"] == ["text"]
    assert tools["repeat"]["outputSchema"]["required"] == ["said"]


def test_a_call_gives_what_the_tool_answers_to_who_asks(inspector: Inspector) -> None:
    text = "a=b: “ä”\n\\ 😀"
    result = inspector.call("repeat", text=text)
    assert result["structuredContent"] == {"said": text, "to": "bot", "by": VERSIONS[inspector.era]}
    assert result["isError"] is False


def test_a_failure_of_a_tool_is_a_result(inspector: Inspector) -> None:
    result = inspector.call("fail")
    assert (result["content"], result["isError"]) == ([{"type": "text", "text": "It failed."}], True)


def test_an_answer_that_its_schema_does_not_take_is_an_error(inspector: Inspector) -> None:
    with pytest.raises(InspectorError, match="data/said must be string") as raised:
        inspector.call("lie", text="-")
    assert raised.value.code == "error"


def test_a_tool_that_is_not_there_is_an_error(inspector: Inspector) -> None:
    with pytest.raises(InspectorError) as raised:
        inspector.call("forget")
    assert raised.value.code == "tool_not_found"


def test_a_schema_that_not_every_model_takes_is_found(inspector: Inspector) -> None:
    ((tool, rules),) = ((f["toolName"], [each["rule"] for each in f["findings"]]) for f in inspector.findings())
    assert (tool, rules) == ("fail", ["untyped-schema"])


def test_a_caller_who_is_not_let_in_is_told_so(tmp_path: Path, url: str, era: Era) -> None:
    with pytest.raises(InspectorError) as raised:
        Inspector.over_http(tmp_path, url, {"Authorization": "Bearer another"}, era).tools()
    assert raised.value.code == "auth_required"


def test_a_server_that_is_away_is_told(tmp_path: Path, era: Era) -> None:
    with pytest.raises(InspectorError) as raised:
        Inspector.over_http(tmp_path, "http://127.0.0.1:1/mcp", HEADERS, era).tools()
    assert raised.value.code == "unreachable"
    with pytest.raises(InspectorError) as raised:
        Inspector.over_stdio(tmp_path, [sys.executable, "-c", ""], {}, era).tools()
    assert raised.value.code == "error"
