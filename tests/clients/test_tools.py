"""The client's tools: the service's own definition, called with whatever a model writes."""

import functools
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta, timezone
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest

from app.interfaces.tools.manifests import manifest
from app.storage.agents import ToolSet
from memory_gateway_client import (
    AnswerNotUnderstood,
    Conflict,
    InvalidRequest,
    MemoryClient,
    NotFound,
    Unauthenticated,
    Unavailable,
    tools,
)
from tests.clients.asking import Asked

_DEFINITIONS = Path(__file__).parents[2] / "clients" / "typescript" / "src" / "turn" / "definitions.ts"


@pytest.fixture(params=["async", pytest.param("sync", marks=pytest.mark.thorough)])
def kind(request: pytest.FixtureRequest) -> str:
    """The kinds differ in how a request is sent, which is tested of both elsewhere."""
    return str(request.param)


@pytest.mark.parametrize(("tool_set", "file"), [("recall_store", "tools.json"), ("profile", "tools-profile.json")])
def test_the_definition_is_the_one_the_service_gives_out(tool_set: ToolSet, file: str) -> None:
    # To bring a copy up to date: write this text into clients/python/memory_gateway_client/.
    given_out = json.dumps(manifest("json-schema", tool_set), indent=2, ensure_ascii=False) + "\n"
    assert files("memory_gateway_client").joinpath(file).read_text("utf-8") == given_out
    assert [asdict(tool) for tool in tools.definitions(tool_set)] == manifest("json-schema", tool_set)


def test_the_npm_package_has_the_definition_that_the_service_gives_out() -> None:
    # To bring it up to date: write this text into clients/typescript/src/turn/definitions.ts.
    shown = ("name", "title", "description")
    tools = [
        {key: tool[key] for key in shown} | {"inputSchema": tool["input_schema"]}
        for tool in manifest("json-schema", "recall_store")
    ]
    given_out = f"export const TOOLS = {json.dumps(tools, indent=2, ensure_ascii=False)} as const;\n"
    assert _DEFINITIONS.read_text("utf-8").partition("\n\n")[2] == given_out


async def test_a_model_stores_and_recalls(bot: Asked) -> None:
    stored = await bot.call_tool("store_memory", {"content": "Ann likes tea", "metadata": {"of": "Ann"}})
    assert json.loads(tools.text(stored)) == {"stored": True}
    arguments = {"query": "tea", "top_k": 3, "filter": {"metadata": {"of": "Ann"}}}
    recalled = json.loads(tools.text(await bot.call_tool("recall_memory", arguments)))
    (entry,) = recalled["entries"]
    assert (entry["content"], entry["metadata"]) == ("Ann likes tea", {"of": "Ann"})
    recall = tools.definitions()[0].output_schema
    assert entry.keys() == recall["properties"]["entries"]["items"]["properties"].keys() - {"also"}
    assert recalled.keys() == set(recall["required"])
    assert (entry["date"], entry["occurred_at"], entry["session_id"]) == (entry["created_at"][:10], None, None)


async def test_a_model_is_told_once_what_says_the_same(bot: Asked) -> None:
    moment = datetime(2026, 3, 1, 9, tzinfo=UTC)
    for session in ("one", "two"):
        await bot.store("Ann likes tea", session_id=session, occurred_at=moment)
    recalled = json.loads(tools.text(await bot.call_tool("recall_memory", {"query": "tea"})))
    (entry,) = recalled["entries"]
    (other,) = entry["also"]
    assert (other["id"] != entry["id"], other["date"]) == (True, "2026-03-01")
    assert jsonschema_rs.is_valid(dict(tools.definitions()[0].output_schema), recalled)


async def test_a_model_is_shown_the_day_and_the_session_that_an_entry_is_of(bot: Asked) -> None:
    occurred = datetime(2025, 12, 31, 23, 30, tzinfo=timezone(timedelta(hours=-1)))
    await bot.store("Ann moved to Lund", session_id="call-17", occurred_at=occurred)
    recalled = json.loads(tools.text(await bot.call_tool("recall_memory", {"query": "Ann"})))
    (entry,) = recalled["entries"]
    assert (entry["date"], entry["occurred_at"]) == ("2026-01-01", "2026-01-01T00:30:00.000Z")
    assert entry["session_id"] == "call-17"
    assert jsonschema_rs.is_valid(dict(tools.definitions()[0].output_schema), recalled)


async def test_a_model_recalls_nothing_of_what_a_program_keeps(bot: Asked) -> None:
    await bot.store('{"count": 1}', metadata={"store": "langgraph", "store.key": "count"})
    await bot.store("Ann likes to count")
    recalled = json.loads(tools.text(await bot.call_tool("recall_memory", {"query": "count"})))
    assert [entry["content"] for entry in recalled["entries"]] == ["Ann likes to count"]
    assert len((await bot.recall("count")).entries) == 2
    (entry,) = (await bot.recall("count", for_model=True)).entries
    assert entry.content == "Ann likes to count"


async def test_null_stands_for_what_is_left_out(bot: Asked) -> None:
    await bot.call_tool("store_memory", {"content": "Ann likes tea", "metadata": None})
    answer = await bot.call_tool("recall_memory", {"query": "tea", "top_k": None, "filter": None})
    assert "Ann likes tea" in tools.text(answer)
    conditions = {"created_after": None, "created_before": None, "metadata": None}
    answer = await bot.call_tool("recall_memory", {"query": "tea", "filter": conditions})
    assert "Ann likes tea" in tools.text(answer)


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("recall_memory", {}, "query"),
        ("recall_memory", {"query": "x", "top_k": 21}, "top_k"),
        ("recall_memory", {"query": "x", "agent_id": "other"}, "agent_id"),
        ("recall_memory", {"query": "x", "explain": True}, "explain"),
        ("recall_memory", {"query": "x", "for_model": False}, "for_model"),
        ("store_memory", {"content": "x", "tenant_id": "other"}, "tenant_id"),
        ("store_memory", {"content": "x" * 40_000}, "content"),
    ],
)
async def test_a_wrong_argument_is_told_to_the_model_with_what_to_do(
    shared_bot: Asked, name: str, arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await shared_bot.call_tool(name, arguments)
    assert says in tools.told(caught.value)
    assert caught.value.advice in tools.told(caught.value)


def deep(levels: int) -> list[Any]:
    return functools.reduce(lambda inner, _: [inner], range(levels), [])


@pytest.mark.parametrize(
    "make", [lambda: json.loads("NaN"), lambda: json.loads("-1e999"), lambda: deep(10_000)], ids=["nan", "inf", "deep"]
)
async def test_what_python_may_read_and_json_cannot_say_is_told_to_the_model(
    shared_bot: Asked, make: Callable[[], Any]
) -> None:
    with pytest.raises(InvalidRequest, match="not JSON") as caught:
        await shared_bot.call_tool("store_memory", {"content": "x", "metadata": {"n": make()}})
    assert "try again" in tools.told(caught.value)


async def test_a_tool_that_is_not_there_is_a_mistake_of_the_program(bot: Asked) -> None:
    with pytest.raises(ValueError, match="forget_memory"):
        await bot.call_tool("forget_memory", {})


async def told(bot: Asked, name: str, **arguments: str) -> str:
    return tools.text(await bot.call_tool(name, arguments))


async def test_a_model_with_the_four_tools_remembers_recalls_lists_and_forgets(bot: Asked) -> None:
    await bot.set_agent(tools="profile")
    assert await told(bot, "remember", content="Ann lives in Lund.") == "Remembered."
    assert '"Ann lives in Lund."' in await told(bot, "recall", query="Where does Ann live?")
    listed = await told(bot, "list", about="")
    (id_,) = re.findall("01[0-9A-Z]{24}", listed)
    assert (await told(bot, "forget", memory=id_)).splitlines()[1].startswith(f"Forgotten: {id_} (")
    assert await told(bot, "recall", query="Where does Ann live?") == "Nothing is known about that."


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("remember", {}, "content"),
        ("remember", {"content": "x" * 40_000}, "content"),
        ("recall", {"query": "x" * 1025}, "query"),
        ("recall", {"query": "x", "agent_id": "other"}, "agent_id"),
        ("forget", {"memory": " "}, "memory"),
        ("list", {"about": 5}, "about"),
    ],
)
async def test_a_wrong_argument_of_one_of_the_four_is_told_with_what_to_do(
    bot: Asked, name: str, arguments: dict[str, Any], says: str
) -> None:
    await bot.set_agent(tools="profile")
    with pytest.raises(InvalidRequest) as caught:
        await bot.call_tool(name, arguments)
    assert says in caught.value.detail
    assert caught.value.advice
    assert tools.told(caught.value) == f"{caught.value.detail} {caught.value.advice}"


async def test_a_tool_that_the_agent_is_not_given_is_not_found(bot: Asked) -> None:
    with pytest.raises(NotFound, match="There are: recall_memory, store_memory"):
        await bot.call_tool("recall", {"query": "anything"})


async def test_a_switched_off_memory_is_told_by_its_code(bot: Asked) -> None:
    await bot.set_agent(tools="profile", long_term_enabled=False)
    with pytest.raises(Conflict) as caught:
        await bot.call_tool("recall", {"query": "anything"})
    assert (caught.value.code, caught.value.status) == ("long_term_disabled", 409)


def answering(status: int, body: Any, **headers: str) -> MemoryClient:
    text = body if isinstance(body, str) else json.dumps(body)
    transport = httpx.MockTransport(lambda _: httpx.Response(status, text=text, headers=headers))
    return MemoryClient("http://gateway", "t", agent_id="bot", http=httpx.Client(transport=transport), retries=0)


def enveloped(**message: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, **message}


REFUSED = enveloped(error={"code": -32600, "message": "Unauthenticated: no.", "data": {"code": "unauthenticated"}})
AWAY = enveloped(
    result={
        "content": [{"type": "text", "text": "Upstream timed out: no answer. Wait 1 s."}],
        "isError": True,
        "_meta": {"code": "upstream_timeout", "status": 504, "advice": "Wait 1 s.", "retry_after": 1},
    }
)


def test_what_refuses_a_call_over_mcp_is_raised_as_over_http() -> None:
    with pytest.raises(Unauthenticated) as refused:
        answering(401, REFUSED).call_tool("recall", {"query": "x"})
    assert (refused.value.code, refused.value.detail) == ("unauthenticated", "Unauthenticated: no.")
    with pytest.raises(Unavailable) as away:
        answering(200, AWAY).call_tool("recall", {"query": "x"})
    assert (away.value.code, away.value.status, away.value.retry_after) == ("upstream_timeout", 504, 1)
    assert (away.value.detail, away.value.advice) == ("Upstream timed out: no answer.", "Wait 1 s.")
    with pytest.raises(Unavailable):
        answering(503, "<html>").call_tool("recall", {"query": "x"})


@pytest.mark.parametrize(
    "body",
    [
        *("", "[]", "null", {}, enveloped(), enveloped(result={}), enveloped(result={"content": []})),
        enveloped(result={"content": [], "structuredContent": {"answer": 5}}),
        enveloped(result={"content": [], "isError": True}),
        enveloped(result={"content": [], "isError": True, "_meta": {"code": "x"}}),
    ],
)
def test_what_is_no_answer_of_a_tool_is_not_taken_for_one(body: Any) -> None:
    with pytest.raises(AnswerNotUnderstood):
        answering(200, body).call_tool("recall", {"query": "x"})


def test_a_call_of_forget_is_not_sent_again_where_it_may_have_been_done() -> None:
    assert {name: tools.call_tool("bot", name, {}).repeatable for name in ("remember", "recall", "forget", "list")} == {
        "remember": True,
        "recall": True,
        "forget": False,
        "list": True,
    }
