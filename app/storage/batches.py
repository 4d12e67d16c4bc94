"""Long-term memory in bulk: pages of a tenant's memories on their way out, batches of them on their way in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
from app.domain.json_types import Json, to_json
from app.domain.quotas import Defaults
from app.ports.database import NOW, Statement
from app.storage.admission import erasing
from app.storage.embedding_configs import HOLDS, named
from app.storage.filters import living
from app.storage.quotas import ROOM_FOR_LINE

PAGE_ROWS = 500
PAGE_BYTES = 1_000_000

BEFORE_ALL: tuple[int, str] = (-(2**62), "")
"""Where the first page begins."""

_SURVEY = f"""
SELECT memory.embedding_provider AS provider, memory.embedding_model AS model,
  memory.embedding_dimensions AS dimensions, count(*) AS memories, max(memory.created_at) AS last, {NOW} AS now
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND {living("memory")} {{agent}}
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""

# The inner queries read keys and sizes alone, so that what does not fit into the page is not carried along.
_PAGE = f"""
SELECT memory.agent_id, memory.id, memory.content, memory.metadata, memory.session_id, memory.occurred_at,
  memory.created_at, memory.expires_at, memory.embedding_provider AS provider, memory.embedding_model AS model,
  memory.embedding_dimensions AS dimensions, page.found
FROM (
  SELECT number, count(*) OVER () AS found,
    sum(bytes) OVER (ORDER BY created_at, id ROWS UNBOUNDED PRECEDING) - bytes AS before
  FROM (
    SELECT memory.rowid AS number, memory.created_at, memory.id,
      length(CAST(memory.content AS BLOB)) + length(CAST(memory.metadata AS BLOB)) AS bytes
    FROM long_term_memory AS memory
    WHERE memory.tenant_id = ?1 ->> 'tenant_id'
      AND (memory.created_at, memory.id) > (?1 ->> 'after_at', ?1 ->> 'after_id')
      AND memory.created_at <= ?1 ->> 'last' AND {living("memory", "?1 ->> 'now'")} {{agent}}
    ORDER BY memory.created_at, memory.id LIMIT {PAGE_ROWS}
  )
) AS page CROSS JOIN long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.rowid = page.number AND page.before < {PAGE_BYTES}
ORDER BY memory.created_at, memory.id
"""
_OF_AGENT = "AND memory.agent_id = ?1 ->> 'agent_id'"

_BY_ID = """
SELECT memory.id, memory.agent_id, memory.content_hash, memory.metadata, memory.created_at, memory.expires_at
FROM json_each(?1, '$.ids') AS wanted CROSS JOIN long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.id = wanted.value
"""
_BY_CONTENT = """
SELECT line.key AS line, memory.id
FROM json_each(?1, '$.lines') AS line CROSS JOIN long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = line.value ->> 'agent_id'
  AND memory.content_hash = line.value ->> 'content_hash'
"""
# An id is unique over all tenants. All that is learned of another one is that it may not be used.
_TAKEN = """
SELECT wanted.value AS id FROM json_each(?1, '$.ids') AS wanted
WHERE EXISTS (
  SELECT 1 FROM long_term_memory AS other
  WHERE other.tenant_id <> ?1 ->> 'tenant_id' AND other.id = wanted.value
)
"""
# A vector whose removal is under way would take another one of the same id with it.
_REMOVED = """
SELECT outbox.id, CASE WHEN outbox.tenant_id = ?1 ->> 'tenant_id' THEN outbox.agent_id END AS agent_id,
  CASE WHEN outbox.tenant_id = ?1 ->> 'tenant_id' THEN max(outbox.revision) END AS revision
FROM json_each(?1, '$.ids') AS wanted CROSS JOIN outbox
WHERE outbox.operation = 'delete' AND outbox.id = wanted.value
GROUP BY outbox.tenant_id, outbox.agent_id, outbox.id
"""

# A run whose end is not known may be made again: by then what it brought may have been deleted.
LINE_LET_IN = f"""
{HOLDS} AND NOT {erasing("= line.value ->> 'agent_id'")} AND NOT EXISTS (
    SELECT 1 FROM outbox AS deleted
    WHERE deleted.tenant_id = ?1 ->> 'tenant_id' AND deleted.agent_id = line.value ->> 'agent_id'
      AND deleted.id = line.value ->> 'id' AND deleted.operation = 'delete'
      AND deleted.revision > line.value ->> 'deleted'
  ) AND {ROOM_FOR_LINE}
"""
"""Whether a line of a bulk insert may be written; ``deleted`` is the revision of the deletion it undoes, or 0."""

_INSERT = f"""
INSERT INTO long_term_memory (
  tenant_id, agent_id, id, content, content_hash, segments, metadata, session_id, occurred_at,
  embedding_provider, embedding_model, embedding_dimensions, created_at, expires_at
)
SELECT
  ?1 ->> 'tenant_id', line.value ->> 'agent_id', line.value ->> 'id', line.value ->> 'content',
  line.value ->> 'content_hash', line.value ->> 'segments', line.value ->> 'metadata', line.value ->> 'session_id',
  line.value ->> 'occurred_at',
  ?1 ->> 'provider', ?1 ->> 'model', ?1 ->> 'dimensions', line.value ->> 'created_at', line.value ->> 'expires_at'
FROM json_each(?1, '$.lines') AS line
WHERE {LINE_LET_IN}
ON CONFLICT DO NOTHING
"""
# Comes first in a run: behind the insert the lines would be counted twice.
_NO_ROOM = f"""
SELECT line.key AS line FROM json_each(?1, '$.lines') AS line WHERE NOT ({ROOM_FOR_LINE})
"""
_LEAVE_OUT = f"UPDATE reembedding SET left_out = left_out + 1 WHERE {HOLDS}"
_AUDIT = """
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'imported',
  CASE WHEN line.value ->> 'embedded' THEN ?1 ->> 'embedded' ELSE ?1 ->> 'carried' END, ?1 ->> 'now'
FROM json_each(?1, '$.lines') AS line CROSS JOIN long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = line.value ->> 'agent_id'
  AND memory.id = line.value ->> 'id' AND memory.content_hash = line.value ->> 'content_hash'
"""

ROOM_NAMES = ("memories_of_agent", "bytes_of_agent", "memories_of_tenant", "bytes_of_tenant")
"""What a line tells of itself and those before it in its batch, for ``ROOM_FOR_LINE``."""

Line = Mapping[str, Json]
"""One memory of a batch, by the names that the statements read."""


@dataclass(frozen=True, slots=True)
class Bulk:
    """Statements over many memories of one tenant, and with ``agent_id`` of one of its agents."""

    tenant_id: str
    agent_id: str | None = None

    def survey(self) -> Statement:
        """Count what there is by embedding config, with the ``last`` moment and the database's ``now``."""
        return Statement(_SURVEY.format(agent=self._agent), self._scope())

    def page(self, after: tuple[int, str], *, last: int, now: int) -> Statement:
        """Read the memories that follow ``after``, oldest first; ``found`` tells how many were looked at."""
        more: dict[str, Json] = {"after_at": after[0], "after_id": after[1], "last": last, "now": now}
        return Statement(_PAGE.format(agent=self._agent), self._scope() | more)

    def by_id(self, ids: Sequence[str]) -> Statement:
        """Read what the tenant has under these ids."""
        return Statement(_BY_ID, {"tenant_id": self.tenant_id, "ids": list(ids)})

    def taken(self, ids: Sequence[str]) -> Statement:
        """Tell which of these ids are not free for this tenant."""
        return Statement(_TAKEN, {"tenant_id": self.tenant_id, "ids": list(ids)})

    def removed(self, ids: Sequence[str]) -> Statement:
        """Tell which vectors are being removed under these ids: of the tenant itself with agent and revision."""
        return Statement(_REMOVED, {"tenant_id": self.tenant_id, "ids": list(ids)})

    def by_content(self, lines: Sequence[Line]) -> Statement:
        """Tell, by the line's number, under which id the agent has this content."""
        return Statement(_BY_CONTENT, {"tenant_id": self.tenant_id, "lines": _only(lines, "agent_id", "content_hash")})

    def erasing(self, agent_ids: Sequence[str]) -> Statement:
        """Tell whether the tenant, or one of these agents, is being erased."""
        those = "IN (SELECT value FROM json_each(?1, '$.agents'))"
        return Statement(
            f"SELECT {erasing(those)} AS erasing", {"tenant_id": self.tenant_id, "agents": list(agent_ids)}
        )

    def no_room(self, lines: Sequence[Line], quotas: Defaults) -> Statement:
        """Tell, by the line's number, which lines would take their agent or the tenant over a limit."""
        argument: dict[str, Json] = {
            "tenant_id": self.tenant_id,
            "limits": quotas.limits,
            "lines": _only(lines, "agent_id", *ROOM_NAMES),
        }
        return Statement(_NO_ROOM, argument)

    def insert(self, lines: Sequence[Line], used: EmbeddingConfigs, quotas: Defaults) -> Statement:
        """Add memories whose ids and contents are new; others, and those not let in, are left out."""
        argument: dict[str, Json] = {
            "tenant_id": self.tenant_id,
            **used.argument,
            **named(used.active),
            "limits": quotas.limits,
            "lines": _without(lines, "vector", "embedded"),
        }
        return Statement(_INSERT, argument, writes=True, repeatable=True)

    def leave_out(self, used: EmbeddingConfigs) -> Statement:
        """Note that vectors are made for the config in use alone: those for the other one are copied later."""
        return Statement(_LEAVE_OUT, used.argument, writes=True, repeatable=True)

    def imported(self, lines: Sequence[Line], config: EmbeddingConfig, *, now: int) -> Statement:
        """Record that memories came in. Comes after their own statement in a run."""
        detail: dict[str, Json] = {
            "provider": config.provider,
            "model": config.model,
            "dimensions": config.dimensions,
        }
        argument: dict[str, Json] = {
            "tenant_id": self.tenant_id,
            "lines": _only(lines, "agent_id", "id", "content_hash", "embedded"),
            "embedded": to_json(detail | {"embedded": True}),
            "carried": to_json(detail | {"embedded": False}),
            "now": now,
        }
        return Statement(_AUDIT, argument, writes=True, repeatable=True)

    @property
    def _agent(self) -> str:
        return "" if self.agent_id is None else _OF_AGENT

    def _scope(self) -> dict[str, Json]:
        return {"tenant_id": self.tenant_id, "agent_id": self.agent_id}


def _only(lines: Sequence[Line], *names: str) -> list[Json]:
    return [{name: line[name] for name in names} for line in lines]


def _without(lines: Sequence[Line], *names: str) -> list[Json]:
    return [{name: value for name, value in line.items() if name not in names} for line in lines]
