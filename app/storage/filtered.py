"""Statements that count and delete the memories of one agent that pass a filter.

The run that deletes some of them is harmless in every prefix, as ``app.storage.deletions`` says of a deletion.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.author import Author
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import NOW
from app.storage import filters
from app.storage.learned_of import delete_proposals, with_learned
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.scoped import ScopedStatement

MAX_CHUNK = 500
"""How many memories one run deletes, beside those that were learned of them."""
MAX_COUNTED = 100_001
"""How many memories are counted: one more than an agent has where no quota says otherwise."""

_OWN = "memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'"
_PLUS_OWN = "+memory.tenant_id = ?1 ->> 'tenant_id' AND +memory.agent_id = ?1 ->> 'agent_id'"


@dataclass(frozen=True, slots=True)
class FilteredMemories:
    """The memories of one agent that pass a filter, and, with ``written_by``, that this credential has written."""

    scope: Scope
    where: Filter
    written_by: str | None = None

    def count(self) -> ScopedStatement:
        """Count them, up to ``MAX_COUNTED``: one row with ``memories``, and the ``newest`` moment of a storing."""
        return self._read(
            f"SELECT count(*) AS memories, max(created_at) AS newest FROM ({self._ids('LIMIT ' + str(MAX_COUNTED))})"
        )

    def ids(self, limit: int, until: int | None = None) -> ScopedStatement:
        """Read the ``id`` of the next of them, oldest first; ``until``: of those that were stored by then."""
        stored = "" if until is None else "AND memory.created_at <= ?1 ->> 'until' "
        end = f"{stored}ORDER BY memory.created_at, memory.id LIMIT ?1 ->> 'limit'"
        return self._read(self._ids(end), limit=limit, until=until)

    def delete(self, ids: Sequence[str], author: Author, *, now: int) -> list[ScopedStatement]:
        """Make the run that deletes those of these memories that still pass, and what was learned of them.

        The last statement returns the ``id`` of each memory that it has deleted.
        """
        chosen = f"""
SELECT memory.id FROM long_term_memory AS memory
WHERE {_PLUS_OWN} AND memory.id IN (SELECT value FROM json_each(?1 -> 'ids')) AND {self._condition()}
"""
        deleted = with_learned(chosen)
        of_chunk = f"{_PLUS_OWN} AND memory.id IN ({deleted})"
        queue = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config
WHERE {of_chunk}
{QUEUED_AGAIN}
"""
        audit = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'deleted', '{{}}', ?1 ->> 'now', ?1 ->> 'by'
FROM long_term_memory AS memory WHERE {of_chunk}
"""
        values = {"ids": list(ids), "now": now, "by": author.credential_id}
        return [
            self._write(delete_proposals(deleted), **values),
            self._write(queue, **values),
            self._write(audit, **values),
            self._write(f"DELETE FROM long_term_memory AS memory WHERE {of_chunk} RETURNING id", **values),
        ]

    def _ids(self, end: str) -> str:
        # Left to choose, SQLite would walk the whole tenant for an agent or a writer with few memories.
        index = "long_term_memory_newest" if self.written_by is None else "long_term_memory_writer"
        return (
            f"SELECT memory.id, memory.created_at FROM long_term_memory AS memory INDEXED BY {index}"
            f" WHERE {_OWN} AND {self._condition()} {end}"
        )

    def _condition(self) -> str:
        writer = "TRUE" if self.written_by is None else "memory.written_by = ?1 ->> 'written_by'"
        return f"{writer} AND {filters.of_living(self.where)}"

    def _read(self, sql: str, **values: int | None) -> ScopedStatement:
        where = filters.argument(self.where)
        return ScopedStatement.read(self.scope, sql, where=where, written_by=self.written_by, **values)

    def _write(self, sql: str, **values: object) -> ScopedStatement:
        where = filters.argument(self.where)
        return ScopedStatement.write(self.scope, sql, where=where, written_by=self.written_by, **values)  # type: ignore[arg-type]  # JSON values
