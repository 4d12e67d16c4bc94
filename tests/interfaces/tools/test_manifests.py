"""The manifests are all of one definition and keep to what providers allow."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import pytest

from app.interfaces.tools.definition import TOOLS
from app.interfaces.tools.manifests import Format, manifest
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import serving

FORMATS: tuple[Format, ...] = get_args(Format)

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
