"""Long-term memory in bulk: pages of a tenant's memories for an export, and look-ups for the batches of an import."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.json_types import Json, Scalar
from app.domain.memory import MORE_FIELDS, Tenant
from app.ports.database import NOW
from app.storage.scoped import ScopedStatement
from app.storage.tiers.rows import TierRows
from app.storage.tiers.tables import TierTable
from app.storage.what_holds import living

MEMORIES = TierTable(
    kind="memory",
    table="long_term_memory",
    columns=(
        *("id", "agent_id", "content", "metadata", "session_id", "message_id", "run_id", "memory_type", "learned"),
        *("occurred_at", "created_at", "expires_at", "superseded_at", "forgotten_at", *MORE_FIELDS),
    ),
    key=("created_at", "id"),
    expires=True,
    read_as=(
        ("memory_type", "iif(held.learned IS NULL, NULL, held.type)"),
        ("forgotten_at", "iif(held.forgotten_with IS NULL, held.forgotten_at, NULL)"),
    ),
)
"""Memories as an export has them, by ``created_at`` and ``id``; their table is written by the memories' own writer."""

_SURVEY = f"""
SELECT memory.embedding_provider AS provider, memory.embedding_model AS model,
  memory.embedding_dimensions AS dimensions, count(*) AS memories, max(memory.created_at) AS last, {NOW} AS now
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND {living("memory")} {{agent}}
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""

_PAGE = f"""held.created_at <= ?1 ->> 'last' AND {living("held", "?1 ->> 'now'")}"""
_OF_AGENT = "AND memory.agent_id = ?1 ->> 'agent_id'"


def restored(kind: str, item: str, at: str) -> str:
    """Return the condition that an item was restored from the archive, and is to stay out of it for now."""
    return f"""EXISTS (
  SELECT 1 FROM archive AS restored
  WHERE restored.tenant_id = ?1 ->> 'tenant_id' AND restored.agent_id = {item}.agent_id AND restored.kind = '{kind}'
    AND restored.restored_until > {NOW} AND {item}.{at} BETWEEN restored.first_at AND restored.last_at
    AND {item}.id BETWEEN restored.first_id AND restored.last_id
)"""


# Messages and the memories learned of them are not archived, so that they stay together.
_STAYS = "({0}.message_id IS NOT NULL OR {0}.learned IS NOT NULL)"


def ends_another(memory: str) -> str:
    """Return the condition that a memory's claim alone keeps another memory superseded, which its deletion would end.

    Of the claims behind a superseded one, the last that has another value counts as the one that keeps it superseded,
    unless a message, which stays, has such a claim too. So it is the last of its key, or the last before the version
    that holds; of any other claim only the next one is read.
    """
    return f"""EXISTS (
  SELECT 1 FROM claim AS own INDEXED BY claim_of_memory CROSS JOIN claim AS other
  WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.agent_id = {memory}.agent_id AND own.memory_id = {memory}.id
    AND coalesce((
      SELECT next.opens AND next.superseded_at IS NULL FROM claim AS next
      WHERE next.tenant_id = ?1 ->> 'tenant_id' AND next.agent_id = own.agent_id AND next.key = own.key
        AND (next.happened_at, next.memory_id) > (own.happened_at, own.memory_id)
      ORDER BY next.happened_at, next.memory_id LIMIT 1
    ), TRUE)
    AND other.tenant_id = ?1 ->> 'tenant_id' AND other.agent_id = own.agent_id AND other.key = own.key
    AND (other.happened_at, other.memory_id) < (own.happened_at, own.memory_id)
    AND other.superseded_at IS NOT NULL AND other.value <> own.value AND other.memory_id <> own.memory_id
    AND NOT EXISTS (
      SELECT 1 FROM claim AS later
      WHERE later.tenant_id = ?1 ->> 'tenant_id' AND later.agent_id = own.agent_id AND later.key = own.key
        AND (later.happened_at, later.memory_id) > (own.happened_at, own.memory_id) AND later.value <> other.value
    )
    AND NOT EXISTS (
      SELECT 1 FROM claim AS also CROSS JOIN long_term_memory AS stays
      WHERE also.tenant_id = ?1 ->> 'tenant_id' AND also.agent_id = own.agent_id AND also.key = own.key
        AND (also.happened_at, also.memory_id) > (other.happened_at, other.memory_id) AND also.value <> other.value
        AND stays.tenant_id = ?1 ->> 'tenant_id' AND stays.id = also.memory_id AND {_STAYS.format("stays")}
    )
)"""


# A memory that alone keeps another one superseded is not archived either: that one goes first, where it goes at all.
_OLD = f"""
{_PAGE} AND NOT {_STAYS.format("held")} AND NOT {ends_another("held")}
AND NOT {restored("memories", "held", "created_at")}
"""

_BY_ID = """
SELECT memory.id, memory.agent_id, memory.content_hash, memory.metadata, memory.created_at, memory.expires_at
FROM json_each(?1, '$.ids') AS wanted CROSS JOIN long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.id = wanted.value
"""
_AGENTS_OF = """
SELECT memory.id, memory.agent_id
FROM json_each(?1, '$.ids') AS wanted CROSS JOIN long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.id = wanted.value
"""
_BY_CONTENT = """
SELECT line.key AS line, memory.id
FROM json_each(?1, '$.lines') AS line CROSS JOIN long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = line.value ->> 'agent_id'
  AND memory.content_hash = line.value ->> 'content_hash'
"""
# An id is unique over all tenants. All that a tenant learns of another tenant's id is that it may not be used.
_TAKEN = """
SELECT wanted.value AS id FROM json_each(?1, '$.ids') AS wanted
WHERE EXISTS (
  SELECT 1 FROM long_term_memory AS other
  WHERE other.tenant_id <> ?1 ->> 'tenant_id' AND other.id = wanted.value
)
"""
# The removal of a vector that is under way would also remove a new vector of the same id.
_REMOVED = """
SELECT outbox.id, CASE WHEN outbox.tenant_id = ?1 ->> 'tenant_id' THEN outbox.agent_id END AS agent_id,
  CASE WHEN outbox.tenant_id = ?1 ->> 'tenant_id' THEN max(outbox.revision) END AS revision
FROM json_each(?1, '$.ids') AS wanted CROSS JOIN outbox
WHERE outbox.operation = 'delete' AND outbox.id = wanted.value
GROUP BY outbox.tenant_id, outbox.agent_id, outbox.id
"""


@dataclass(frozen=True, slots=True)
class Bulk:
    """Statements over many memories of one tenant or, with ``agent_id``, of one of its agents."""

    tenant_id: str
    agent_id: str | None = None

    def survey(self) -> ScopedStatement:
        """Count the memories by embedding config, with the ``last`` moment and the database's ``now``."""
        return ScopedStatement.read(self._tenant, _SURVEY.format(agent=self._agent), agent_id=self.agent_id)

    def page(self, after: Sequence[Scalar] | None, *, last: int, now: int) -> ScopedStatement:
        """Read the memories that follow the key ``after``, oldest first; ``found`` tells how many were looked at."""
        return TierRows(self.tenant_id, MEMORIES, self.agent_id).page(after, where=_PAGE, last=last, now=now)

    def old(self, until: int, *, now: int) -> ScopedStatement:
        """Read the oldest memories of the agent that may be archived, if they were stored by ``until``."""
        return TierRows(self.tenant_id, MEMORIES, self.agent_id).page(None, where=_OLD, last=until, now=now)

    def by_id(self, ids: Sequence[str]) -> ScopedStatement:
        """Read the tenant's memories that have these ids."""
        return ScopedStatement.read(self._tenant, _BY_ID, ids=list(ids))

    def agents_of(self, ids: Sequence[str]) -> ScopedStatement:
        """Tell which agents of the tenant have memories under these ids."""
        return ScopedStatement.read(self._tenant, _AGENTS_OF, ids=list(ids))

    def taken(self, ids: Sequence[str]) -> ScopedStatement:
        """Tell which of these ids are not free for this tenant."""
        return ScopedStatement.read(self._tenant, _TAKEN, ids=list(ids))

    def removed(self, ids: Sequence[str]) -> ScopedStatement:
        """Tell of which of these ids vectors are being removed; the tenant's own have an agent and a revision."""
        return ScopedStatement.read(self._tenant, _REMOVED, ids=list(ids))

    def by_content(self, contents: Sequence[tuple[str, str]]) -> ScopedStatement:
        """Read the ``id`` of the memory that has each content, which is named by its agent and its hash.

        ``line`` is the content's number in ``contents``; a content that no memory has is left out.
        """
        lines: list[Json] = [{"agent_id": agent_id, "content_hash": hash_} for agent_id, hash_ in contents]
        return ScopedStatement.read(self._tenant, _BY_CONTENT, lines=lines)

    @property
    def _tenant(self) -> Tenant:
        return Tenant(self.tenant_id)

    @property
    def _agent(self) -> str:
        return "" if self.agent_id is None else _OF_AGENT
