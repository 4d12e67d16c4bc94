"""The formats of other memory systems, each read and, where that system takes memories in, written.

A foreign record's fields that are none of ours are kept in its metadata as ``<format>.<field>``; our fields that are
none of theirs are kept in theirs (see ``envelope``). Limits are for whoever stores what is read.
"""

from collections.abc import Mapping
from types import MappingProxyType

from app.transfer.formats import cloudflare_agent_memory, langgraph, letta, mcp_memory_service, mem0
from app.transfer.formats.form import Flaw, Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        format_.name: format_
        for format_ in (
            mem0.FORMAT,
            mcp_memory_service.FORMAT,
            langgraph.FORMAT,
            letta.FORMAT,
            cloudflare_agent_memory.FORMAT,
        )
    }
)
"""Every foreign format, by its name."""

__all__ = ["FORMATS", "Flaw", "Format"]
