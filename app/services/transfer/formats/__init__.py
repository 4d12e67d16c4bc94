"""The formats of other memory systems that an import reads.

A field of an entry without a counterpart in a record is kept in the metadata as ``<format>.<field>``. The import that
stores the records checks the limits of a store.
"""

from collections.abc import Mapping
from types import MappingProxyType

from app.services.transfer.formats import langgraph, mcp_memory_service, mem0
from app.services.transfer.formats.form import Flaw, Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {format_.name: format_ for format_ in (mem0.FORMAT, mcp_memory_service.FORMAT, langgraph.FORMAT)}
)
"""Every foreign format, by its name."""

__all__ = ["FORMATS", "Flaw", "Format"]
