"""Operations: tools.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from typing import Any

from memory_gateway_client.request import (
    Call,
    asked,
)


def list_tools(
    _own: str | None,
    /,
    *,
    format: str | None = None,
    tools: str | None = None,
    agent_id: str | None = None,
) -> Call[tuple[dict[str, Any], ...]]:
    """Give the definition of an agent's tools, ready to paste.

    It needs no credential. Where one names an agent, or ``agent_id`` does beside one, it gives the tools that this
    agent is set to: none where its long-term memory is switched off.

    Args:
        format: ``openai`` for Chat Completions and what is compatible with it, ``openai-responses``, ``anthropic``,
            ``mcp``, or ``json-schema`` with schemas of what goes in and comes out. Left out: ``json-schema``.
        tools: Which tools, where no agent is known: ``recall_store``, as agents have at first, or ``profile``.
        agent_id: The agent, where that is not the client's.

    Raises:
        Conflict: ``conflict``.
    """
    return Call(
        "GET",
        "/tools",
        tuple[dict[str, Any], ...],
        query=asked(format=format, tools=tools, agent_id=agent_id or _own),
    )
