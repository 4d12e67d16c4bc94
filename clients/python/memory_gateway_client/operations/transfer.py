"""Operations: transfer.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from memory_gateway_client.agents import agent_or_every
from memory_gateway_client.request import (
    Call,
    Line,
    Lines,
    asked,
    lines_of,
)


def export_memories(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    vectors: bool = False,
    every_agent: bool = False,
) -> Call[Line]:
    """Give out the tenant's memories, or an agent's, line by line, as an administrator.

    The last line has the type ``end``: an answer without it is not whole.

    Args:
        agent_id: The agent, where that is not the client's.
        vectors: Whether to add the vectors, for a quick import.
        every_agent: Those of all agents that the credential reaches, as does a client without an agent.
    """
    return Call(
        "GET",
        "/export",
        Line,
        query=asked(agent_id=agent_or_every(agent_id, _own, every_agent=every_agent), vectors=vectors or None),
        lines_until=("end",),
    )


def import_memories(
    _own: str | None,
    /,
    lines: Lines,
) -> Call[Line]:
    """Take in what an export gave out, as an administrator; what is there already stays as it is.

    The answer, once all has been read, has a line for each line that holds a memory or cannot be taken, and a summary.

    Args:
        lines: The lines of an export: objects, or as they were written.

    Raises:
        Conflict: ``erasing``.
    """
    return Call(
        "POST",
        "/import",
        Line,
        content=lines_of(lines),
        headers={"Content-Type": "application/x-ndjson"},
        lines_until=("summary",),
        repeatable=False,
    )
