"""The client's tools: the service's own definition, called with whatever a model writes."""

import functools
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from typing import Any

import jsonschema_rs
import pytest

from app.interfaces.tools.manifests import manifest
from memory_gateway_client import InvalidRequest, tools
from tests.clients.asking import Asked


def test_the_definition_is_the_one_the_service_gives_out() -> None:
    # To bring the copy up to date: curl the service's /tools into clients/python/memory_gateway_client/tools.json.
    assert [asdict(tool) for tool in tools.definitions()] == manifest("json-schema")


async def test_a_model_stores_and_recalls(bot: Asked) -> None:
    stored = await bot.call_tool("store_memory", {"content": "Ann likes tea", "metadata": {"of": "Ann"}})
    assert json.loads(tools.text(stored)) == {"stored": True}
    arguments = {"query": "tea", "top_k": 3, "filter": {"metadata": {"of": "Ann"}}}
    recalled = json.loads(tools.text(await bot.call_tool("recall_memory", arguments)))
    (entry,) = recalled["entries"]
    assert (entry["content"], entry["metadata"]) == ("Ann likes tea", {"of": "Ann"})
    recall = tools.definitions()[0].output_schema
    assert entry.keys() == recall["properties"]["entries"]["items"]["properties"].keys()
    assert recalled.keys() == set(recall["required"])
    assert (entry["date"], entry["occurred_at"], entry["session_id"]) == (entry["created_at"][:10], None, None)


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
    bot: Asked, name: str, arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await bot.call_tool(name, arguments)
    assert says in tools.told(caught.value)
    assert caught.value.advice in tools.told(caught.value)


def deep(levels: int) -> list[Any]:
    return functools.reduce(lambda inner, _: [inner], range(levels), [])


@pytest.mark.parametrize(
    "make", [lambda: json.loads("NaN"), lambda: json.loads("-1e999"), lambda: deep(10_000)], ids=["nan", "inf", "deep"]
)
async def test_what_python_may_read_and_json_cannot_say_is_told_to_the_model(
    bot: Asked, make: Callable[[], Any]
) -> None:
    with pytest.raises(InvalidRequest, match="not JSON") as caught:
        await bot.call_tool("store_memory", {"content": "x", "metadata": {"n": make()}})
    assert "try again" in tools.told(caught.value)


async def test_a_tool_that_is_not_there_is_a_mistake_of_the_program(bot: Asked) -> None:
    with pytest.raises(ValueError, match="forget_memory"):
        await bot.call_tool("forget_memory", {})
