"""Statements by which a tenant reads its long-term memory: page by page, newest first, or one memory by its id."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.claim import MemoryType
from app.domain.memory import Scope, Tenant
from app.domain.query import Filter
from app.storage import filters
from app.storage.rows import MEMORY_COLUMNS
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import holding, shown

_TENANT = "memory.tenant_id = ?1 ->> 'tenant_id'"
_AGENT = "memory.agent_id = ?1 ->> 'agent_id'"
_AFTER = (
    "memory.created_at <= ?1 ->> 'created_at' AND (memory.created_at, memory.id) < (?1 ->> 'created_at', ?1 ->> 'id')"
)


_MAX_PAGE_BYTES = 4 * 1024 * 1024
"""The bytes of content and metadata that a page has at most: a page with more ends early."""
_NEWEST_STANDING = 40
"""The newest instructions that are looked at, however many of them still hold."""

# The named instructions come first, in their order. The inner query reads ids alone, and the + has SQLite look the
# memories up by these.
_STANDING = f"""
SELECT {MEMORY_COLUMNS}
FROM (
  SELECT found.id, min(found.place) AS place FROM (
    SELECT named.value AS id, named.key AS place FROM json_each(?1 -> 'ids') AS named
    UNION ALL
    SELECT newest.id, json_array_length(?1 -> 'ids') FROM (
      SELECT memory.id FROM long_term_memory AS memory INDEXED BY long_term_memory_typed
      WHERE {_TENANT} AND {_AGENT} AND memory.type = 'instruction'
      ORDER BY memory.created_at DESC, memory.id DESC LIMIT {_NEWEST_STANDING}
    ) AS newest
  ) AS found GROUP BY found.id
) AS wanted CROSS JOIN long_term_memory AS memory
WHERE +{_TENANT} AND +{_AGENT} AND memory.id = wanted.id AND memory.type = 'instruction'
  AND {holding("memory")} AND {shown("memory")}
ORDER BY wanted.place, memory.created_at DESC, memory.id DESC LIMIT ?1 ->> 'limit'
"""


@dataclass(frozen=True, slots=True)
class ListPosition:
    """A place in a listing: right behind the memory of this time and id, whether it is still there or not."""

    created_at: int
    id: str


@dataclass(frozen=True, slots=True)
class MemoryListing:
    """Statements that read one tenant's memories. The tenant is bound here, once."""

    tenant_id: str

    def page(
        self,
        agent_id: str | None,
        where: Filter,
        *,
        limit: int,
        after: ListPosition | None,
        written_by: str | None = None,
    ) -> ScopedStatement:
        """Read the next ``limit`` memories, newest first, of one agent and one writer, or with None of all.

        Its rows are for ``read_memory``.
        """
        # Left to choose, SQLite would walk the whole tenant for an agent or a writer with few memories.
        index = ""
        conditions = [_TENANT]
        if agent_id is not None:
            index = "INDEXED BY long_term_memory_newest"
            conditions.append(_AGENT)
        if written_by is not None:
            index = "INDEXED BY long_term_memory_writer"
            conditions.append("memory.written_by = ?1 ->> 'written_by'")
        if after is not None:
            conditions.append(_AFTER)
        return ScopedStatement.read(
            Tenant(self.tenant_id),
            f"SELECT {MEMORY_COLUMNS} FROM long_term_memory AS memory {index} WHERE {' AND '.join(conditions)}"
            f" AND {filters.of_living(where)}"
            " ORDER BY memory.created_at DESC, memory.id DESC LIMIT ?1 ->> 'limit'",
            agent_id=agent_id,
            created_at=None if after is None else after.created_at,
            id=None if after is None else after.id,
            limit=limit,
            written_by=written_by,
            where=filters.argument(where),
        )

    def profile(
        self, scope: Scope, *, limit: int, after: ListPosition | None, session_id: str | None, type_: MemoryType | None
    ) -> ScopedStatement:
        """Read the next memories of an agent that hold, newest first: of one session and of one type, or with None all.

        Memories that a program keeps for itself are left out. A page has at most ``limit`` memories, and fewer where
        they are large. The rows are for ``read_memory``; each has in ``following`` whether more come after it.
        """
        conditions = [_TENANT, _AGENT]
        index = "long_term_memory_newest"
        if type_ is not None:
            index = "long_term_memory_typed"
            conditions.append("memory.type = ?1 ->> 'type'")
        if session_id is not None:
            index = "long_term_memory_session"
            conditions.append("memory.session_id = ?1 ->> 'session_id'")
        if after is not None:
            conditions.append(_AFTER)
        conditions += [holding("memory"), shown("memory")]  # last, because they cost most
        newest_first = "ORDER BY memory.created_at DESC, memory.id DESC"
        bytes_ = "length(CAST(memory.content AS BLOB)) + length(CAST(memory.metadata AS BLOB))"
        return ScopedStatement.read(
            scope,
            f"SELECT * FROM (SELECT memory.*, row_number() OVER ({newest_first}) AS place,"
            f" row_number() OVER ({newest_first}) < count(*) OVER () AS following,"
            f" sum({bytes_}) OVER ({newest_first}) AS size"
            f" FROM (SELECT {MEMORY_COLUMNS} FROM long_term_memory AS memory INDEXED BY {index}"
            f" WHERE {' AND '.join(conditions)} {newest_first} LIMIT ?1 ->> 'limit' + 1) AS memory) AS memory"
            f" WHERE place <= ?1 ->> 'limit' AND (size <= {_MAX_PAGE_BYTES} OR place = 1) ORDER BY place",
            limit=limit,
            session_id=session_id,
            type=type_,
            created_at=None if after is None else after.created_at,
            id=None if after is None else after.id,
        )

    def standing(self, scope: Scope, ids: Sequence[str], *, limit: int) -> ScopedStatement:
        """Read the instructions of an agent that hold: those of these ids in their order, and then the newest.

        Of the instructions that ``ids`` does not name only the newest 40 are looked at. The rows are for
        ``read_memory``.
        """
        return ScopedStatement.read(scope, _STANDING, ids=list(ids), limit=limit)

    def one(self, agent_id: str, memory_id: str) -> ScopedStatement:
        """Read one memory, for ``read_memory``; no row where the agent has none of that id, or it has expired."""
        return ScopedStatement.read(
            Scope(self.tenant_id, agent_id),
            f"SELECT {MEMORY_COLUMNS} FROM long_term_memory AS memory WHERE {_TENANT} AND {_AGENT}"
            f" AND memory.id = ?1 ->> 'id' AND {filters.of_living(Filter())}",
            id=memory_id,
        )
