"""What may keep a store out, checked inside its own run.

Another embedding config in use, an erasure, a key used before, its own run made before.
"""

from dataclasses import dataclass
from functools import cached_property

from app.errors import Erasing, IdempotencyKeyReused
from app.in_use import HOLDS, InUse
from app.model import Json, NewMemory, Scope
from app.ports.database import NOW, Row, Statement

KEPT_MS = 24 * 3600 * 1000
"""How long an Idempotency-Key is remembered."""

_ERASING = """
SELECT 1 FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id'
  AND (erasure.agent_id IS NULL OR erasure.agent_id = ?1 ->> 'agent_id') AND erasure.receipt IS NULL
"""
_USED = f"""
FROM idempotency AS used WHERE used.tenant_id = ?1 ->> 'tenant_id' AND used.agent_id = ?1 ->> 'agent_id'
  AND used.key = ?1 ->> 'key' AND used.created_at > {NOW} - {KEPT_MS}
"""

# A run whose end is not known may be made again: by then what it stored may have been deleted, under the same id.
_DELETED = """
SELECT 1 FROM outbox AS deleted WHERE deleted.tenant_id = ?1 ->> 'tenant_id' AND deleted.agent_id = ?1 ->> 'agent_id'
  AND deleted.id = ?1 ->> 'id' AND deleted.operation = 'delete'
"""

LET_IN = f"{HOLDS} AND NOT EXISTS ({_ERASING}) AND NOT EXISTS ({_DELETED}) AND NOT EXISTS (SELECT 1 {_USED})"
"""A boolean SQL expression for every statement of a store that writes; it reads an ``Admission``'s ``argument``."""

VERDICT = f"""
EXISTS ({_ERASING}) AS erasing, EXISTS ({_DELETED}) AS deleted,
  (SELECT used.request_hash {_USED}) AS request_hash, (SELECT used.memory_id {_USED}) AS memory_id
"""
"""The SQL columns that ``Admission.check`` judges by, read at the end of the run from the same argument."""

# Comes after the memory's own statement: should the run stop before it, storing again is the same memory.
_REMEMBER = f"""
INSERT INTO idempotency (tenant_id, agent_id, key, request_hash, memory_id, created_at)
SELECT memory.tenant_id, memory.agent_id, ?1 ->> 'key', ?1 ->> 'request_hash', memory.id, {NOW}
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
  AND memory.content_hash = ?1 ->> 'content_hash' AND {LET_IN}
ON CONFLICT (tenant_id, agent_id, key) DO UPDATE SET
  request_hash = excluded.request_hash, memory_id = excluded.memory_id, created_at = excluded.created_at
"""


_LEAVE_OUT = f"UPDATE reembedding SET left_out = left_out + 1 WHERE {LET_IN}"


@dataclass(frozen=True)
class Admission:
    """One store that asks to be let in, under a new id. The tenant is bound here; ``key`` may be None."""

    scope: Scope
    memory_id: str
    memory: NewMemory
    in_use: InUse
    key: str | None = None

    @cached_property
    def argument(self) -> dict[str, Json]:
        """Return what ``LET_IN`` and ``VERDICT`` read, and the hash of the content."""
        return {
            "tenant_id": self.scope.tenant_id,
            "agent_id": self.scope.agent_id,
            "id": self.memory_id,
            "key": self.key,
            "content_hash": self.memory.content_hash,
            **self.in_use.argument,
        }

    def remember(self) -> Statement:
        """Keep the key, once the memory is stored."""
        argument = self.argument | {"request_hash": self.memory.request_hash}
        return Statement(_REMEMBER, argument, writes=True, repeatable=True)

    def leave_out(self) -> Statement:
        """Note that the vector for the config beside the one in use could not be made."""
        return Statement(_LEAVE_OUT, self.argument, writes=True, repeatable=True)

    def check(self, verdict: Row) -> str | None:
        """Return the id of what was stored before, by this run or with this key; None where it was neither.

        Raises:
            Erasing: the scope is being erased; nothing was written.
            IdempotencyKeyReused: the key was used for another request; nothing was written.
        """
        if verdict["erasing"]:
            raise Erasing("The agent, or its tenant, is being erased. Store again once the erasure has its receipt.")
        if verdict["deleted"]:
            return self.memory_id
        if verdict["request_hash"] is None:
            return None
        if verdict["request_hash"] != self.memory.request_hash:
            raise IdempotencyKeyReused("The Idempotency-Key was used for another request in the last 24 hours.")
        return str(verdict["memory_id"])
