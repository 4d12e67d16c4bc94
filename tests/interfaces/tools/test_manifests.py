"""The manifests are all of one definition and keep to what providers allow."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import pytest

from app.interfaces.tools.manifests import Format, manifest, manifest_of
from app.interfaces.tools.sets import ALL_TOOLS, SETS
from app.storage.agents import ToolSet
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import serving

FORMATS: tuple[Format, ...] = get_args(Format)

SET_NAMES: tuple[ToolSet, ...] = get_args(ToolSet)

SCHEMAS = [tool[side] for tool in manifest_of(ALL_TOOLS, "json-schema") for side in ("input_schema", "output_schema")]


def keywords(schema: Mapping[str, Any]) -> Iterator[str]:
    yield from schema
    inner = [
        *schema.get("properties", {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
        *schema.get("anyOf", []),
    ]
    for each in inner:
        yield from keywords(each) if isinstance(each, Mapping) else ()


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_schemas_are_of_json_schema(schema: dict[str, Any]) -> None:
    jsonschema_rs.meta.validate(schema)
    assert not jsonschema_rs.meta.is_valid(schema | {"required": "query"})
    # The meta-schema lets any other word stand, so that a misspelt one would say nothing.
    assert set(keywords(schema)) <= {
        *("type", "properties", "required", "additionalProperties", "items", "const", "minimum", "maximum"),
        *("minLength", "format", "default", "description", "anyOf"),
    }


def told(form: Format, tool: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return the name, the description and the input schema as a format has them."""
    said = tool["function"] if form == "openai" else tool
    (schema,) = (said[key] for key in ("parameters", "input_schema", "inputSchema") if key in said)
    return said["name"], said["description"], schema


def names(tools: list[dict[str, Any]]) -> list[str]:
    return [tool["name"] for tool in tools]


@pytest.mark.parametrize("tools", SET_NAMES)
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_the_same(form: Format, tools: ToolSet) -> None:
    defined = [(tool.name, tool.description, tool.input_schema) for tool in SETS[tools]]
    assert [told(form, tool) for tool in manifest(form, tools)] == defined


@pytest.mark.parametrize("tools", SET_NAMES)
def test_what_comes_out_is_the_same_where_a_format_says_it(tools: ToolSet) -> None:
    defined = [tool.output_schema for tool in SETS[tools]]
    assert [tool["outputSchema"] for tool in manifest("mcp", tools)] == defined
    assert [tool["output_schema"] for tool in manifest("json-schema", tools)] == defined


def test_no_name_is_in_both_sets() -> None:
    assert names(manifest("mcp")) == ["recall_memory", "store_memory"]
    assert names(manifest("mcp", "profile")) == ["remember", "recall", "forget", "list"]
    assert len({tool.name for tool in ALL_TOOLS}) == len(ALL_TOOLS)


def test_the_two_take_a_query_or_a_content_and_no_id() -> None:
    arguments = {tool.name: set(tool.input_schema["properties"]) for tool in SETS["recall_store"]}
    assert arguments == {"recall_memory": {"query", "top_k", "filter"}, "store_memory": {"content", "metadata"}}


def test_a_model_can_be_held_to_the_schemas_of_the_four_and_not_to_those_with_options() -> None:
    # Strict mode wants every argument given and no other, and knows no bounds of a text.
    for tool in manifest("openai-responses", "profile"):
        schema = tool["parameters"]
        assert tool["strict"] is True
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False
        assert [set(argument) for argument in schema["properties"].values()] == [{"type", "description"}]
    assert [tool["strict"] for tool in manifest("openai-responses")] == [False, False]


def test_each_of_the_four_takes_one_text_and_answers_with_one() -> None:
    for tool in SETS["profile"]:
        ((_, argument),) = tool.input_schema["properties"].items()
        assert argument["type"] == "string"
        ((_, answer),) = tool.output_schema["properties"].items()
        assert answer["type"] == "string"


def test_what_only_reads_says_so_and_nothing_is_destructive() -> None:
    hints = {tool["name"]: tool["annotations"] for tool in manifest_of(ALL_TOOLS, "mcp")}
    reads = {name for name, each in hints.items() if each["readOnlyHint"]}
    assert reads == {"recall_memory", "recall", "list"}
    assert all(each["idempotentHint"] and not each["destructiveHint"] for each in hints.values())


@pytest.mark.parametrize("tool", ALL_TOOLS, ids=lambda tool: tool.name)
def test_names_and_descriptions_keep_to_the_providers_limits(tool: Any) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool.name)
    assert len(tool.description) <= 1024


async def test_the_service_gives_each_format_and_the_json_schema_where_none_is_said(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        for form in FORMATS:
            for tools in SET_NAMES:
                answer = await service.client.get("/tools", params={"format": form, "tools": tools})
                assert (answer.status_code, answer.json()) == (200, manifest(form, tools))
            answer = await service.client.get("/tools", params={"format": form})
            assert (answer.status_code, answer.json()) == (200, manifest(form))
        assert (await service.client.get("/tools")).json() == manifest("json-schema")


async def test_a_credential_for_an_agent_is_given_the_tools_that_the_agent_is_set_to(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        bot, admin = service.credential(agent="bot"), service.credential(admin=True)
        assert names((await service.client.get("/tools", headers=bot)).json()) == ["recall_memory", "store_memory"]
        await service.client.put("/agents/bot", json={"tools": "profile"}, headers=admin)
        for query in ({}, {"tools": "profile"}):
            answer = await service.client.get("/tools", params={"format": "mcp", **query}, headers=bot)
            assert answer.json() == manifest("mcp", "profile")
        other = await service.client.get("/tools", params={"tools": "recall_store"}, headers=bot)
        assert named_fields(assert_problem(other, 409, "conflict")) == {"tools"}
        ann = service.credential(agent="ann")
        assert names((await service.client.get("/tools", headers=ann)).json()) == ["recall_memory", "store_memory"]
        await service.client.put("/agents/bot", json={"long_term_enabled": False}, headers=admin)
        assert (await service.client.get("/tools", headers=bot)).json() == []


async def test_a_credential_for_all_agents_asks_for_a_set_by_its_name(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        every = service.credential()
        assert (await service.client.get("/tools", headers=every)).json() == manifest("json-schema")
        answer = await service.client.get("/tools", params={"tools": "profile"}, headers=every)
        assert answer.json() == manifest("json-schema", "profile")


async def test_a_credential_for_all_agents_is_given_the_tools_of_the_agent_that_it_names(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        every, admin = service.credential(), service.credential(admin=True)

        async def given(agent_id: str, **query: str) -> Any:
            params = {"format": "mcp", "agent_id": agent_id, **query}
            return (await service.client.get("/tools", params=params, headers=every)).json()

        await service.client.put("/agents/four", json={"tools": "profile"}, headers=admin)
        assert await given("four") == manifest("mcp", "profile")
        assert await given("bot") == manifest("mcp")
        for tools in SET_NAMES:
            settings = {"tools": tools, "long_term_enabled": False}
            await service.client.put("/agents/bot", json=settings, headers=admin)
            assert await given("bot") == []
            assert await given("bot", tools=tools) == []
        assert await given("four") == manifest("mcp", "profile")
        await service.client.put("/agents/bot", json={"long_term_enabled": True}, headers=admin)
        assert await given("bot") == manifest("mcp", tools)


async def test_an_agent_is_named_by_who_may_speak_for_it_alone(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        named = {"agent_id": "bot"}
        assert_problem(await service.client.get("/tools", params=named), 401, "unauthenticated")
        other = await service.client.get("/tools", params=named, headers=service.credential(agent="ann"))
        assert_problem(other, 403, "forbidden")
        own = await service.client.get("/tools", params=named, headers=service.credential(agent="bot"))
        assert own.json() == manifest("json-schema")
        conflicting = named | {"tools": "profile"}
        answer = await service.client.get("/tools", params=conflicting, headers=service.credential())
        assert named_fields(assert_problem(answer, 409, "conflict")) == {"tools"}


async def test_a_credential_that_does_not_hold_is_told_so_instead_of_being_passed_over(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        answer = await service.client.get("/tools", headers={"Authorization": "Bearer none"})
        assert_problem(answer, 401, "unauthenticated")


@pytest.mark.parametrize("tools", ["", "both", "PROFILE", "null"])
async def test_an_unknown_set_is_refused_by_name(tmp_path: Path, tools: str) -> None:
    async with serving(tmp_path) as service:
        answer = await service.client.get("/tools", params={"tools": tools})
        assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"tools"}


@pytest.mark.parametrize("form", ["gemini", "", "OpenAI", "openai "])
async def test_an_unknown_format_is_refused_by_name(tmp_path: Path, form: str) -> None:
    async with serving(tmp_path) as service:
        answer = await service.client.get("/tools", params={"format": form})
        problem = assert_problem(answer, 422, "invalid_request")
        assert named_fields(problem) == {"format"}
        assert all(each in problem["detail"] for each in FORMATS)
