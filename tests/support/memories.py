"""Memories as the database has them, and the states of them that no call of the product makes in a test's time."""

from typing import Any

from app.ports.database import Row
from tests.support.tables import ANY, Asked, Source, column_of, insert_rows, rows_of, set_rows

_TABLE = "long_term_memory"


async def memory_rows(source: Source, *columns: str, by: str = "", **where: Asked) -> list[Row]:
    """Read memories, whatever their state, with these columns or all."""
    return await rows_of(source, _TABLE, *columns, by=by, **where)


async def memory_column(source: Source, column: str, *, by: str = "", **where: Asked) -> list[Any]:
    """Read one column of memories, whatever their state."""
    return await column_of(source, _TABLE, column, by=by, **where)


async def contents(source: Source, *, by: str = "content, id", **where: Asked) -> list[str]:
    """Return what the memories say, whatever their state, in the order of their contents."""
    return await memory_column(source, "content", by=by, **where)


async def superseded(source: Source, *, by: str = "content, id", **where: Asked) -> list[str]:
    """Return what those memories say that others have superseded."""
    return await contents(source, by=by, superseded_at=ANY, **where)


async def holding(source: Source, *, by: str = "content, id", **where: Asked) -> list[str]:
    """Return what those memories say that nothing supersedes."""
    return await contents(source, by=by, superseded_at=None, **where)


async def memory_ids(source: Source, *, by: str = "id", **where: Asked) -> list[str]:
    """Return the ids of memories, whatever their state."""
    return await memory_column(source, "id", by=by, **where)


async def expire(source: Source, **where: Asked) -> None:
    """Have memories be expired for long, and the clock stay where it is."""
    await set_rows(source, _TABLE, {"expires_at": 1}, **where)


async def set_memories(source: Source, values: dict[str, Any], **where: Asked) -> None:
    """Change columns of memories, past every rule of the product."""
    await set_rows(source, _TABLE, values, **where)


async def mark_read(source: Source, *, read: bool | None = True, **where: Asked) -> None:
    """Have memories count as compared by the reader, or as not; None: as an older version left them."""
    await set_rows(source, _TABLE, {"statements_read": read}, **where)


async def tenants(source: Source) -> list[str]:
    """Return whose memories there are."""
    return sorted({*await memory_column(source, "tenant_id")})


async def claim(source: Source, key: str, value: str, memory_id: str, happened_at: int = 1, *, whole: int = 1) -> None:
    """Have a memory claim what rules of an older version have read in its text."""
    scope = {"tenant_id": "acme", "agent_id": "bot"}
    own = {"key": key, "value": value, "memory_id": memory_id, "happened_at": happened_at, "whole": whole}
    await insert_rows(source, "claim", scope | own)
