"""What a full count says that tenants and agents hold, beside what ``usage`` says."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from app.ports.database import Statement
from tests.support.tables import Source, database_of

TABLES = """
SELECT made.name AS name,
  EXISTS (SELECT 1 FROM pragma_table_xinfo(made.name) AS own WHERE own.name = 'agent_id') AS owned
FROM sqlite_master AS made JOIN pragma_table_xinfo(made.name) AS col
WHERE made.type = 'table' AND col.name = 'counted_bytes' ORDER BY 1
"""
"""Reads the ``name`` of each table whose bytes count beside those of memories, and whether an agent has its rows."""
COUNTED = "SELECT tenant_id, agent_id, memories, bytes FROM usage WHERE memories <> 0 OR bytes <> 0 ORDER BY 1, 2"
_MEMORIES = """
SELECT tenant_id, agent_id, count(*), sum(length(CAST(content AS BLOB)) + length(CAST(metadata AS BLOB)))
FROM long_term_memory GROUP BY 1, 2
"""


def counting(tables: Iterable[Sequence[Any]]) -> list[str]:
    """Return the statements that count all rows; ``tables`` are the rows of ``TABLES``."""
    parts = [(name, "coalesce(agent_id, '')" if owned else "''") for name, owned in tables]
    return [
        _MEMORIES,
        *(f"SELECT tenant_id, {agent}, 0, sum(counted_bytes) FROM {name} GROUP BY 1, 2" for name, agent in parts),
    ]


def full_count(counts: Iterable[Sequence[Any]]) -> list[tuple[str, str, int, int]]:
    """Return what ``COUNTED`` has to read, by the rows of all statements of ``counting``."""
    sums: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for tenant_id, agent_id, memories, size in counts:
        for owner in {str(agent_id), ""}:
            sums[str(tenant_id), owner][0] += int(memories)
            sums[str(tenant_id), owner][1] += int(size)
    return sorted((*owner, memories, size) for owner, (memories, size) in sums.items())


async def usage_of(source: Source) -> list[tuple[Any, ...]]:
    """Return tenant, agent, memories and bytes of all that ``usage`` says is held."""
    (rows,) = await database_of(source).run([Statement(COUNTED)])
    return [tuple(row.values()) for row in rows]


async def counted(source: Source) -> list[tuple[str, str, int, int]]:
    """Count all rows: what ``usage_of`` is to return."""
    database = database_of(source)
    (tables,) = await database.run([Statement(TABLES)])
    statements = [Statement(sql) for sql in counting([tuple(row.values()) for row in tables])]
    counts = [tuple(row.values()) for rows in await database.run(statements) for row in rows]
    return full_count(counts)
