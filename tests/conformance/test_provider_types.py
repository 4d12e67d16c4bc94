"""The manifests are what each provider's own published types take."""

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, get_args

import mcp_types
import pytest
from pydantic import ConfigDict, TypeAdapter, ValidationError

from app.interfaces.tools.manifests import Format, manifest, manifest_of
from app.interfaces.tools.sets import ALL_TOOLS
from app.storage.agents import ToolSet

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


@pytest.mark.parametrize("tools", get_args(ToolSet))
@pytest.mark.parametrize("form", READ)
def test_a_manifest_is_what_its_provider_takes(form: Format, tools: ToolSet) -> None:
    assert taken(form, manifest(form, tools))


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


@pytest.mark.parametrize("tool", manifest_of(ALL_TOOLS, "anthropic"), ids=lambda tool: tool["name"])
def test_the_input_schema_is_what_anthropic_asks_of_one(tool: dict[str, Any]) -> None:
    type_: Any = import_module("anthropic.types.tool_param").InputSchemaTyped
    asked: TypeAdapter[Any] = TypeAdapter(type_)
    assert asked.validate_python(tool["input_schema"])["type"] == "object"
    with pytest.raises(ValidationError):
        asked.validate_python(tool["input_schema"] | {"type": "array"})
