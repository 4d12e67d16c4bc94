"""Manifests: the tools' definition in the formats of model providers and frameworks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from app.interfaces.tools.definition import JsonSchema, Tool
from app.interfaces.tools.sets import SETS
from app.storage.agents import DEFAULT_TOOLS, ToolSet

Format: TypeAlias = Literal["openai", "openai-responses", "anthropic", "mcp", "json-schema"]


def _openai(tool: Tool) -> dict[str, Any]:
    """Return the form of the Chat Completions API, which OpenAI-compatible services accept too."""
    return {"type": "function", "function": _function(tool)}


def _openai_responses(tool: Tool) -> dict[str, Any]:
    """Return the form of the Responses API, which can hold a model to a schema without options and free keys."""
    return {"type": "function", **_function(tool), "strict": _can_be_strict(tool.input_schema)}


def _can_be_strict(schema: JsonSchema) -> bool:
    """Tell whether every argument has to be given and is a text without bounds: what ``strict`` knows for certain."""
    arguments = schema["properties"]
    return set(schema["required"]) == set(arguments) and all(
        set(argument) == {"type", "description"} and argument["type"] == "string" for argument in arguments.values()
    )


def _function(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}


def _mcp(tool: Tool) -> dict[str, Any]:
    """Return the form of ``tools/list`` (https://modelcontextprotocol.io/specification)."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {
            "readOnlyHint": tool.read_only,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "_meta": {"tags": list(tool.tags)},
    }


def _json_schema(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "tags": list(tool.tags),
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


_FORMATS: Mapping[Format, Callable[[Tool], dict[str, Any]]] = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "mcp": _mcp,
    "json-schema": _json_schema,
}


def manifest(form: Format, tools: ToolSet = DEFAULT_TOOLS) -> list[dict[str, Any]]:
    """Return the tools of a set in one format."""
    return manifest_of(SETS[tools], form)


def manifest_of(tools: Sequence[Tool], form: Format) -> list[dict[str, Any]]:
    """Return tools in one format."""
    return [_FORMATS[form](tool) for tool in tools]
