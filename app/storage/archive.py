"""Statements of one tenant's archive: they find and move an agent's old rows, and read the objects that have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.ports.database import NOW, Row
from app.storage.batches import Bulk, ends_another, restored
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.scoped import ScopedStatement
from app.storage.tiers.tables import TIER_TABLES, TierTable

Kind: TypeAlias = Literal["memories", "episodes", "runs"]
KINDS: tuple[Kind, ...] = ("memories", "episodes", "runs")
"""The kinds in the order in which they are archived: a run is archived once it has no episodes."""
TIERS: Mapping[str, TierTable] = {tier.kind: tier for tier in TIER_TABLES if tier.kind in KINDS}
MOMENTS: Mapping[Kind, str] = {"memories": "created_at", "episodes": "created_at", "runs": "started_at"}
"""The column by which items of a kind are old."""

_SCOPE = "tenant_id = ?1 ->> 'tenant_id' AND {0}.agent_id = ?1 ->> 'agent_id'"
_DAY_MS = 24 * 3600 * 1000
_ID_END = 6
"""The last characters of an item's id: the row of its object lists them."""
_AFTER = "({0}, {1}.id) > (coalesce(?1 ->> '$.after[0]', -1), coalesce(?1 ->> '$.after[1]', ''))"
_OLD_EPISODES = f"""
SELECT {", ".join(f"episode.{column}" for column in TIERS["episodes"].columns)} FROM memory_episodes AS episode
WHERE episode.{_SCOPE.format("episode")} AND episode.created_at <= ?1 ->> 'until' AND NOT EXISTS (
  SELECT 1 FROM agent_runs AS run
  WHERE run.tenant_id = ?1 ->> 'tenant_id' AND run.id = episode.run_id AND run.parent_run_id IS NOT NULL
)
AND NOT {restored("episodes", "episode", "created_at")} AND {_AFTER.format("episode.created_at", "episode")}
ORDER BY episode.created_at, episode.id LIMIT 100
"""
# A delegated run is pruned and erased with its parent, so neither of the two is archived.
_OLD_RUNS = f"""
SELECT {", ".join(f"run.{column}" for column in TIERS["runs"].columns)} FROM agent_runs AS run
WHERE run.{_SCOPE.format("run")} AND run.started_at <= ?1 ->> 'until' AND run.ended_at <= ?1 ->> 'until'
  AND NOT EXISTS (
    SELECT 1 FROM memory_episodes AS episode
    WHERE episode.tenant_id = ?1 ->> 'tenant_id' AND episode.run_id = run.id
  )
  AND run.parent_run_id IS NULL AND NOT EXISTS (
    SELECT 1 FROM agent_runs AS child WHERE child.tenant_id = ?1 ->> 'tenant_id' AND child.parent_run_id = run.id
  )
  AND NOT {restored("runs", "run", "started_at")} AND {_AFTER.format("run.started_at", "run")}
ORDER BY run.started_at, run.id LIMIT 10
"""
_COMPARED: Mapping[str, tuple[str, ...]] = {
    "memories": ("metadata", "expires_at", "superseded_at"),
    "episodes": ("run_id",),
    "runs": ("ended_at", "status"),
}
"""The columns of an item that may change while it is there."""
_TABLES: Mapping[str, str] = {"memories": "long_term_memory", "episodes": "memory_episodes", "runs": "agent_runs"}
_BUSY = {
    # Pages read forgotten_at by the same expression (app.storage.batches). What the memory supersedes may have come
    # while the object was written.
    "memories": "iif(held.forgotten_with IS NULL, held.forgotten_at, NULL) IS moved.value ->> 'forgotten_at'"
    f" AND NOT {ends_another('held')}",
    "episodes": "TRUE",
    "runs": """NOT EXISTS (
    SELECT 1 FROM memory_episodes AS episode
    WHERE episode.tenant_id = ?1 ->> 'tenant_id' AND episode.run_id = held.id
  )""",
}


def _unchanged(kind: str) -> str:
    same = "".join(f" AND held.{column} IS moved.value ->> '{column}'" for column in _COMPARED[kind])
    return f"""
SELECT held.id FROM json_each(?1, '$.items') AS moved CROSS JOIN {_TABLES[kind]} AS held
WHERE held.{_SCOPE.format("held")} AND held.id = moved.value ->> 'id'{same} AND {_BUSY[kind]}
"""


_STORED = f"""
UPDATE blob SET state = 'stored' WHERE blob.{_SCOPE.format("blob")} AND blob.id = ?1 ->> 'id' AND blob.state = 'writing'
"""
_INSERT = """
INSERT INTO archive (
  tenant_id, id, agent_id, kind, items, size, sha256, first_at, last_at, first_id, last_id, archived_at,
  id_ends
)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'id', ?1 ->> 'agent_id', ?1 ->> 'kind', ?1 ->> 'count', ?1 ->> 'size',
  ?1 ->> 'sha256', ?1 ->> 'first_at', ?1 ->> 'last_at', ?1 ->> 'first_id', ?1 ->> 'last_id', {now}, ?1 ->> 'id_ends'
WHERE (SELECT count(*) FROM ({unchanged})) = ?1 ->> 'count' AND EXISTS (
  SELECT 1 FROM blob WHERE blob.{scope} AND blob.id = ?1 ->> 'id' AND blob.state = 'writing'
)
ON CONFLICT DO NOTHING
"""
_THERE = f"SELECT archive.id FROM archive WHERE archive.{_SCOPE.format('archive')} AND archive.id = ?1 ->> 'id'"
_QUEUE_DELETES = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM json_each(?1, '$.items') AS moved CROSS JOIN long_term_memory AS memory CROSS JOIN embedding_config AS config
WHERE memory.{_SCOPE.format("memory")} AND memory.id = moved.value ->> 'id' AND EXISTS ({_THERE})
{QUEUED_AGAIN}
"""
_DELETE = """
DELETE FROM {table} WHERE {table}.{scope}
  AND {table}.id IN (SELECT moved.value ->> 'id' FROM json_each(?1, '$.items') AS moved) AND EXISTS ({there})
"""
_COLUMNS = """
archive.id, archive.agent_id, archive.kind, archive.items, archive.size, archive.sha256, archive.first_at,
  archive.last_at, archive.first_id, archive.last_id, archive.archived_at
"""
_TENANT = "archive.tenant_id = ?1 ->> 'tenant_id' AND archive.restored_until IS NULL"
_LIST = f"""
SELECT {_COLUMNS} FROM archive WHERE {_TENANT}
  AND (?1 ->> 'of_agent' IS NULL OR archive.agent_id = ?1 ->> 'of_agent')
  AND (?1 ->> 'kind' IS NULL OR archive.kind = ?1 ->> 'kind')
  AND archive.last_at >= coalesce(?1 ->> 'since', archive.last_at)
  AND archive.first_at <= coalesce(?1 ->> 'until', archive.first_at)
  AND (?1 ->> 'before' IS NULL OR archive.id < ?1 ->> 'before')
ORDER BY archive.id DESC LIMIT ?1 ->> 'limit'
"""
_ONE = f"SELECT {_COLUMNS} FROM archive WHERE {_TENANT} AND archive.id = ?1 ->> 'id'"
_WITH_ITEM = f"""
SELECT {_COLUMNS} FROM archive WHERE {_TENANT}
  AND archive.first_id <= ?1 ->> 'item' AND archive.last_id >= ?1 ->> 'item' AND archive.id > ?1 ->> 'after'
  AND (archive.id_ends IS NULL OR instr(archive.id_ends, substr(?1 ->> 'item', -{_ID_END})))
ORDER BY archive.id LIMIT 20
"""
_LET_GO = f"""
UPDATE archive SET restored_until = {NOW} + ?1 ->> 'days' * {_DAY_MS} WHERE {_TENANT} AND archive.id = ?1 ->> 'id'
"""
_RESTORE = "INSERT INTO archive_restore (tenant_id, id) SELECT ?1 ->> 'tenant_id', ?1 ->> 'id'"
_FORGET = f"DELETE FROM archive WHERE archive.{_SCOPE.format('archive')} AND archive.restored_until <= {NOW}"


@dataclass(frozen=True, slots=True)
class ArchivedObject:
    """An object of the archive: an export of ``items`` of one kind and agent; moments are in ms since the epoch."""

    id: str
    agent_id: str
    kind: str
    items: int
    size: int
    sha256: str
    first_at: int
    last_at: int
    first_id: str
    last_id: str
    archived_at: int


@dataclass(frozen=True, slots=True)
class AgentArchive:
    """Statements that move one agent's old items."""

    scope: Scope

    def old(self, kind: Kind, until: int, *, now: int, after: Row | None = None) -> ScopedStatement:
        """Read the oldest items of a kind whose moment is at most ``until``, if there are any.

        ``after`` is an episode or a run: those that are read come behind it.
        """
        if kind == "memories":
            return Bulk(self.scope.tenant_id, self.scope.agent_id).old(until, now=now)
        place: Json = None if after is None else [after[MOMENTS[kind]], after["id"]]
        sql = _OLD_EPISODES if kind == "episodes" else _OLD_RUNS
        return ScopedStatement.read(self.scope, sql, until=until, after=place)

    def forget(self) -> ScopedStatement:
        """Delete the rows of objects that were restored so long ago that their items may be archived again."""
        return ScopedStatement.write(self.scope, _FORGET, repeatable=True)

    def move(self, moved: ArchivedObject, rows: Sequence[Row]) -> list[ScopedStatement]:
        """Delete items whose object is durable, if none has changed; the last statement returns a row if it did."""
        kind, table = moved.kind, _TABLES[moved.kind]
        compared = ("id", *_COMPARED[kind], *(["forgotten_at"] if kind == "memories" else []))
        items: list[Json] = [{column: row[column] for column in compared} for row in rows]
        values: dict[str, Json] = {
            "id": moved.id,
            "kind": kind,
            "count": moved.items,
            "size": moved.size,
            "sha256": moved.sha256,
            "first_at": moved.first_at,
            "last_at": moved.last_at,
            "first_id": moved.first_id,
            "last_id": moved.last_id,
            "items": items,
            "id_ends": " ".join(str(row["id"])[-_ID_END:] for row in rows),
        }
        insert = _INSERT.format(now=NOW, unchanged=_unchanged(kind), scope=_SCOPE.format("blob"))
        delete = _DELETE.format(table=table, scope=_SCOPE.format(table), there=_THERE)
        changes = [
            insert,
            *([_QUEUE_DELETES] if kind == "memories" else []),
            delete,
            f"{_STORED} AND EXISTS ({_THERE})",
        ]
        return [
            *(ScopedStatement.write(self.scope, sql, repeatable=True, **values) for sql in changes),
            ScopedStatement.read(self.scope, _THERE, id=moved.id),
        ]


@dataclass(frozen=True, slots=True)
class ArchiveRows:
    """Statements over the archived objects of one tenant."""

    tenant_id: str

    def list(
        self,
        *,
        agent_id: str | None,
        kind: str | None,
        since: int | None,
        until: int | None,
        before: str | None,
        limit: int,
    ) -> ScopedStatement:
        """Read each ``ArchivedObject`` with items of this time, the newest first."""
        times = {"since": since, "until": until}
        return self._read(_LIST, of_agent=agent_id, kind=kind, before=before, limit=limit, **times)

    def one(self, archive_id: str) -> ScopedStatement:
        """Read an ``ArchivedObject``."""
        return self._read(_ONE, id=archive_id)

    def with_item(self, item_id: str, after: str) -> ScopedStatement:
        """Read the next objects that may have the item, by the range and the ends of their items' ids."""
        return self._read(_WITH_ITEM, item=item_id, after=after)

    def restoring(self, archive_id: str) -> ScopedStatement:
        """Refuse the run with the reason ``erasing`` where the object was erased, or let go, meanwhile."""
        return ScopedStatement.write(Tenant(self.tenant_id), _RESTORE, repeatable=True, id=archive_id)

    def let_go(self, archive_id: str, *, days: int) -> ScopedStatement:
        """Let an object go, so that `prune` removes its bytes; its items stay out of the archive for ``days`` days."""
        return ScopedStatement.write(Tenant(self.tenant_id), _LET_GO, repeatable=True, id=archive_id, days=days)

    def _read(self, sql: str, **values: str | int | None) -> ScopedStatement:
        return ScopedStatement.read(Tenant(self.tenant_id), sql, **values)
