"""The manifests are what each provider's own published types take, and all of one definition."""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import mcp_types
import pytest
from pydantic import ConfigDict, TypeAdapter, ValidationError

from app.interfaces.tools.definition import TOOLS
from app.interfaces.tools.manifests import Format, manifest
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import serving

FORMATS: tuple[Format, ...] = get_args(Format)

# A TypedDict has no configuration of its own, so it takes the one of the list around it, and so does what is in it.
STRICTLY = ConfigDict(extra="forbid", strict=True)


def mcp(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Read tools and write them again: the protocol's type passes over what it does not know."""
    read = [mcp_types.Tool.model_validate(tool) for tool in tools]
    return [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in read]


def typed(module: str, name: str) -> Callable[[Any], Any]:
    """Read as a provider's type does; its package, which takes seconds to import, is loaded by the first call."""

    @cache
    def adapter() -> TypeAdapter[Any]:
        tools: Any = list.__class_getitem__(getattr(import_module(module), name))
        return TypeAdapter(tools, config=STRICTLY)

    return lambda tools: adapter().validate_python(tools)


READ: Mapping[str, Callable[[Any], Any]] = {
    "openai": typed("openai.types.chat", "ChatCompletionToolParam"),
    "openai-responses": typed("openai.types.responses", "FunctionToolParam"),
    "anthropic": typed("anthropic.types", "ToolParam"),
    "mcp": mcp,
}
"""Read a manifest as its provider's types do."""


def taken(form: str, tools: list[dict[str, Any]]) -> bool:
    try:
        return bool(READ[form](tools) == tools)
    except ValidationError:
        return False


def inside(tool: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the tool, and the objects in it that are neither schemas nor free."""
    yield tool
    yield from (tool[name] for name in ("function", "annotations") if name in tool)


@pytest.mark.parametrize("form", READ)
def test_a_manifest_is_what_its_provider_takes(form: Format) -> None:
    assert taken(form, manifest(form))


@pytest.mark.parametrize(
    ("form", "required"),
    [
        ("openai", ["type", "function", "name"]),
        ("openai-responses", ["type", "name", "parameters", "strict"]),
        ("anthropic", ["name", "input_schema"]),
        ("mcp", ["name", "inputSchema"]),
    ],
)
def test_a_key_that_is_unknown_missing_or_of_another_type_would_not_be_taken(form: Format, required: list[str]) -> None:
    refused = set()
    for place, each in enumerate(inside(manifest(form)[0])):
        for name in [*each, "unknown"]:
            changed = copy.deepcopy(manifest(form))
            part = list(inside(changed[0]))[place]
            if name in required:
                del part[name]
                assert not taken(form, changed), name
                refused.add(name)
            part[name] = object()
            assert name == "_meta" or not taken(form, changed), name
    assert refused == set(required)


@pytest.mark.parametrize("tool", manifest("anthropic"), ids=lambda tool: tool["name"])
def test_the_input_schema_is_what_anthropic_asks_of_one(tool: dict[str, Any]) -> None:
    type_: Any = import_module("anthropic.types.tool_param").InputSchemaTyped
    asked: TypeAdapter[Any] = TypeAdapter(type_)
    assert asked.validate_python(tool["input_schema"])["type"] == "object"
    with pytest.raises(ValidationError):
        asked.validate_python(tool["input_schema"] | {"type": "array"})


SCHEMAS = [tool[side] for tool in manifest("json-schema") for side in ("input_schema", "output_schema")]


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


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_the_same(form: Format) -> None:
    defined = [(tool.name, tool.description, tool.input_schema) for tool in TOOLS]
    assert [told(form, tool) for tool in manifest(form)] == defined


def test_what_comes_out_is_the_same_where_a_format_says_it() -> None:
    defined = [tool.output_schema for tool in TOOLS]
    assert [tool["outputSchema"] for tool in manifest("mcp")] == defined
    assert [tool["output_schema"] for tool in manifest("json-schema")] == defined


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_names_and_descriptions_keep_to_the_providers_limits(tool: Any) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool.name)
    assert len(tool.description) <= 1024


async def test_the_service_gives_each_format_and_the_json_schema_where_none_is_said(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        for form in FORMATS:
            answer = await service.client.get("/tools", params={"format": form})
            assert (answer.status_code, answer.json()) == (200, manifest(form))
        assert (await service.client.get("/tools")).json() == manifest("json-schema")


@pytest.mark.parametrize("form", ["gemini", "", "OpenAI", "openai "])
async def test_an_unknown_format_is_refused_by_name(tmp_path: Path, form: str) -> None:
    async with serving(tmp_path) as service:
        answer = await service.client.get("/tools", params={"format": form})
        problem = assert_problem(answer, 422, "invalid_request")
        assert named_fields(problem) == {"format"}
        assert all(each in problem["detail"] for each in FORMATS)
