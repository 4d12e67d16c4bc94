"""What the tools answer, checked for what holds of every answer."""

import json
from typing import Any

import jsonschema_rs
import mcp_types as types
from mcp.client.client import Client

from app.interfaces.tools.sets import ALL_TOOLS

_SCHEMAS = {tool.name: jsonschema_rs.validator_for(tool.output_schema, validate_formats=True) for tool in ALL_TOOLS}


async def answered(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that succeeds; its answer is as its schema says, and the same as text: its own, or JSON."""
    result = await client.call_tool(tool, arguments)
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert not result.is_error, block.text
    answer: dict[str, Any] = result.structured_content
    _SCHEMAS[tool].validate(answer)
    if set(answer) == {"answer"}:
        assert block.text == answer["answer"]
    else:
        assert json.loads(block.text) == answer
    return answer


async def refused(client: Client, tool: str, **arguments: Any) -> tuple[str, str]:
    """Call a tool that fails; return the code, and the text, which is one line of whole sentences."""
    result = await client.call_tool(tool, arguments)
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert result.is_error, block.text
    assert result.structured_content is None
    assert block.text.endswith(".")
    assert "\n" not in block.text
    code: str = (result.meta or {})["code"]
    return code, block.text


async def contents(client: Client, query: str, **arguments: Any) -> list[str]:
    """Recall, and return what the entries hold."""
    return [
        entry["content"] for entry in (await answered(client, "recall_memory", query=query, **arguments))["entries"]
    ]
