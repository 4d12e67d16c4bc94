"""What may keep a store out, checked inside its own run: an erasure, a switch, a used key, a quota, the run itself.

All of it is checked once, by the run's first statement. It counts a store that is let in, and leaves the id of its new
memory as its ticket with the agent's usage; the statements behind it look for nothing but the ticket.
"""

from dataclasses import dataclass, field
from functools import cached_property

from app.domain.embedding import EmbeddingConfigs
from app.domain.errors import Erasing, IdempotencyKeyReused, LongTermDisabled
from app.domain.json_types import Json
from app.domain.memory import NewMemory, Scope
from app.domain.quotas import Defaults, Use
from app.ports.database import NOW, Row, Statement
from app.storage.embedding_configs import HOLDS
from app.storage.quotas import MINUTE, NEXT_MINUTE, near, refuse, standing, within

KEPT_MS = 24 * 3600 * 1000
"""How long an Idempotency-Key is remembered."""

_ERASURE = """
FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id'
  AND (erasure.agent_id IS NULL OR erasure.agent_id {agent}) AND erasure.receipt IS NULL
"""
ERASURE = _ERASURE.format(agent="= ?1 ->> 'agent_id'")
"""The rest of a SELECT, of the erasures under way that cover the agent in the argument."""


def erasing(agent: str) -> str:
    """Return a boolean SQL expression: an erasure is under way that covers an agent, compared as ``agent`` says."""
    return f"EXISTS (SELECT 1 {_ERASURE.format(agent=agent)})"


_ERASING = f"EXISTS (SELECT 1 {ERASURE})"
DISABLED = """EXISTS (
  SELECT 1 FROM agent WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'
    AND NOT agent.long_term_enabled
)"""
"""A boolean SQL expression: the long-term memory of the agent in the argument is switched off."""

_USED = f"""
FROM idempotency AS used WHERE used.tenant_id = ?1 ->> 'tenant_id' AND used.agent_id = ?1 ->> 'agent_id'
  AND used.key = ?1 ->> 'key' AND used.created_at > {NOW} - {KEPT_MS}
"""

# A run whose end is not known may be made again: by then what it stored may have been deleted, under the same id.
_DELETED = """
SELECT 1 FROM outbox AS deleted WHERE deleted.tenant_id = ?1 ->> 'tenant_id' AND deleted.agent_id = ?1 ->> 'agent_id'
  AND deleted.id = ?1 ->> 'id' AND deleted.operation = 'delete'
"""

_OWN = """
SELECT 1 FROM long_term_memory AS own WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.agent_id = ?1 ->> 'agent_id'
  AND own.id = ?1 ->> 'id'
"""

LET_IN = """EXISTS (
  SELECT 1 FROM usage AS let_in WHERE let_in.tenant_id = ?1 ->> 'tenant_id' AND let_in.agent_id = ?1 ->> 'agent_id'
    AND let_in.ticket = ?1 ->> 'id'
)"""
"""A boolean SQL expression for every statement of a store that writes, behind ``Admission.admit``.

It reads an ``Admission``'s ``argument``.
"""

_MAY_ENTER = f"""
NOT {_ERASING} AND NOT {DISABLED} AND NOT EXISTS ({_DELETED}) AND NOT EXISTS (SELECT 1 {_USED})
  AND {HOLDS} AND {within(LET_IN)}
"""
# A run that is made again, and this time refused, must not find the ticket that it was given before.
_ADMIT = f"""
INSERT INTO usage (tenant_id, agent_id, minute, stores, ticket)
SELECT ?1 ->> 'tenant_id', scope.value ->> 0, {MINUTE}, store.enters AND NOT store.counted,
  iif(store.enters, ?1 ->> 'id', NULL)
FROM json_each(?1, '$.scopes') AS scope,
  (SELECT {_MAY_ENTER} AS enters, {LET_IN} OR EXISTS ({_OWN}) AS counted, {LET_IN} AS ticket) AS store
WHERE store.enters OR store.ticket
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
  stores = iif(usage.minute = excluded.minute, usage.stores, 0) + excluded.stores,
  minute = excluded.minute, ticket = excluded.ticket
"""

VERDICT = f"""
{_ERASING} AS erasing, {DISABLED} AS disabled, EXISTS ({_DELETED}) AS deleted, EXISTS ({_OWN}) AS own,
  (SELECT used.request_hash {_USED}) AS request_hash, (SELECT used.memory_id {_USED}) AS memory_id,
  {standing(LET_IN)} AS quotas, {NEXT_MINUTE} AS next_minute
"""
"""The SQL columns that ``Admission.check`` judges by, read at the end of the run from ``Admission.asked``."""

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
    """One store that asks to be let in, under a new id. The tenant is bound here; ``key`` may be None.

    ``quotas`` are the limits of whoever has no others.
    """

    scope: Scope
    memory_id: str
    memory: NewMemory
    configs: EmbeddingConfigs
    key: str | None = None
    quotas: Defaults = field(default_factory=Defaults)

    @cached_property
    def argument(self) -> dict[str, Json]:
        """Return what ``LET_IN`` reads, the key and the hash of the content."""
        return {
            "tenant_id": self.scope.tenant_id,
            "agent_id": self.scope.agent_id,
            "id": self.memory_id,
            "key": self.key,
            "content_hash": self.memory.content_hash,
        }

    @cached_property
    def asked(self) -> dict[str, Json]:
        """Return what ``VERDICT`` reads."""
        return self.argument | {
            **self.configs.argument,
            "scopes": self.quotas.scopes(self.scope.agent_id),
            "content_bytes": len(self.memory.content.encode()),
            "metadata_bytes": len(self.memory.metadata_json.encode()),
        }

    def admit(self) -> Statement:
        """Let the store in, where nothing keeps it out and ``configs`` holds, and count it. Comes first in its run.

        Should the run stop behind it, a store was counted and nothing else has happened.
        """
        return Statement(_ADMIT, self.asked, writes=True, repeatable=True)

    def remember(self) -> Statement:
        """Keep the key, once the memory is stored."""
        argument = self.argument | {"request_hash": self.memory.request_hash}
        return Statement(_REMEMBER, argument, writes=True, repeatable=True)

    def leave_out(self) -> Statement:
        """Note that the vector for the config beside the one in use could not be made."""
        return Statement(_LEAVE_OUT, self.argument, writes=True, repeatable=True)

    def check(self, verdict: Row) -> str | None:
        """Return, for a store that was not let in, the id of what was stored before, by this run or with this key.

        None where it was neither, and nothing of the below: another embedding config is in use, or the minute whose
        stores were too many is over.

        Raises:
            Erasing: the scope is being erased; nothing was written.
            IdempotencyKeyReused: the key was used for another request; nothing was written.
            LongTermDisabled: the agent's long-term memory is switched off; nothing was written.
            QuotaExceeded: a limit is reached; nothing was written.
        """
        if verdict["erasing"]:
            raise Erasing("The agent, or its tenant, is being erased. Store again once the erasure has its receipt.")
        if verdict["deleted"]:
            return self.memory_id
        if verdict["request_hash"] is not None:
            if verdict["request_hash"] != self.memory.request_hash:
                raise IdempotencyKeyReused("The Idempotency-Key was used for another request in the last 24 hours.")
            return str(verdict["memory_id"])
        if verdict["own"]:
            return self.memory_id
        if verdict["disabled"]:
            raise LongTermDisabled
        refuse(verdict["quotas"], next_minute=int(verdict["next_minute"] or 0))
        return None

    def near(self, verdict: Row) -> list[Use]:
        """Return the limits of which this store has left little."""
        return near(verdict["quotas"])
