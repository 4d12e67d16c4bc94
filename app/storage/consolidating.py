"""Statements that merge memories of one agent, and those that read and undo the merges of a consolidation.

A merge takes effect by triggers (``schema.sql``): the kept memory supersedes the other one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from app.domain.consolidation import MAX_NAMED, Consolidation, Merge, Mergeable
from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.ports.database import NOW, Row
from app.storage.rows import read_rows
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import HORIZON, remembered, shown

PAGE = 500
"""Memories that are looked at in one run."""
PAGE_CHARACTERS = 256_000
"""Characters of these memories that are read in one run; a single memory may be longer."""
PAIRS = 200
"""Pairs compared by a reader that are read in one run."""
REPORTS = 20
"""Consolidations that are kept, besides those whose merges are in effect."""
_SHORT = 200
"""Characters of a text whose restatement a reader is believed: of a longer text another may say only a part again."""

_WHOSE = "{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id = ?1 ->> 'agent_id'"


def _holds(memory: str) -> str:
    """Return the condition that a memory holds in full, is remembered, and was merged into no other, undone or not.

    A memory that an older version has superseded by a copy of its content holds: the copy says nothing else.
    """
    return f"""
({memory}.superseded_at IS NULL AND {remembered(memory)}
  AND {memory}.happened_at <= {HORIZON} AND {memory}.message_id IS NULL AND {memory}.speaker_holds
  AND {shown(memory)} AND coalesce({memory}.type, 'fact') IN ('fact', 'instruction')
  AND NOT EXISTS (
    SELECT 1 FROM claim AS own INDEXED BY claim_superseded_of
    WHERE {_WHOSE.format(table="own")} AND own.memory_id = {memory}.id AND own.superseded_at IS NOT NULL
      AND NOT EXISTS (
        SELECT 1 FROM long_term_memory AS copy
        WHERE copy.id = own.superseded_by AND +{_WHOSE.format(table="copy")} AND copy.content = {memory}.content
      )
  )
  AND NOT EXISTS (
    SELECT 1 FROM consolidated AS before WHERE {_WHOSE.format(table="before")} AND before.other_id = {memory}.id
  ))
"""


_COLUMNS = """
{memory}.id, {memory}.content, json_object(
    'fact', json({memory}.metadata -> '$.fact'), 'speaker', json({memory}.metadata -> '$.speaker')
  ) AS told, {memory}.happened_at, {memory}.occurred_at, {memory}.speakers, {memory}.type,
  {memory}.learned IS NOT NULL AS learned, {memory}.statements_read IS 1 AS is_read
"""
_PAGE = f"""
SELECT page.created_at AS place, page.id AS place_id, holds, {_COLUMNS.format(memory="memory")}
FROM (
  SELECT id, created_at, holds, sum(holds * size) OVER (ORDER BY created_at DESC, id DESC) - holds * size AS before
  FROM (
    SELECT memory.id, memory.created_at, {_holds("memory")} AS holds, length(memory.content) AS size
    FROM long_term_memory AS memory INDEXED BY long_term_memory_newest
    WHERE {_WHOSE.format(table="memory")}
      AND (?1 ->> 'at' IS NULL
        OR memory.created_at <= ?1 ->> 'at' AND (memory.created_at, memory.id) < (?1 ->> 'at', ?1 ->> 'id'))
    ORDER BY memory.created_at DESC, memory.id DESC LIMIT {PAGE}
  )
) AS page LEFT JOIN long_term_memory AS memory
  ON page.holds AND memory.id = page.id AND +memory.tenant_id = ?1 ->> 'tenant_id'
WHERE before < {PAGE_CHARACTERS}
ORDER BY page.created_at DESC, page.id DESC
"""
_OF_PAIR = """
(
  SELECT json_object(
    'id', memory.id, 'content', memory.content, 'happened_at', memory.happened_at, 'occurred_at', memory.occurred_at,
    'speakers', json(memory.speakers), 'type', memory.type, 'learned', memory.learned IS NOT NULL,
    'is_read', memory.statements_read IS 1, 'told', json_object(
      'fact', json(memory.metadata -> '$.fact'), 'speaker', json(memory.metadata -> '$.speaker')
    )
  ) FROM long_term_memory AS memory
  WHERE memory.id = found.{side} AND +{whose}
    AND length(memory.content) <= {short} AND {holds}
)
"""
_OLDER, _NEWER = (
    _OF_PAIR.format(side=side, whose=_WHOSE.format(table="memory"), short=_SHORT, holds=_holds("memory"))
    for side in ("older_id", "newer_id")
)
_PAIRS = f"""
SELECT found.older_id, found.newer_id, {_OLDER} AS older, {_NEWER} AS newer
FROM (
  SELECT relation.older_id, relation.newer_id FROM relation INDEXED BY relation_restates
  WHERE {_WHOSE.format(table="relation")} AND relation.name = 'restates' AND relation.effect IS NULL
    AND (relation.newer_id, relation.older_id) > (?1 ->> 'newer_id', ?1 ->> 'older_id')
  ORDER BY relation.newer_id, relation.older_id LIMIT {PAIRS}
) AS found
"""
_NOT_MOVING = """
NOT EXISTS (
  SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = ?1 ->> 'tenant_id' AND placed.carried
)
"""
_MERGE = f"""
INSERT INTO consolidated
  (tenant_id, agent_id, other_id, kept_id, kind, said_again_at, consolidation_id, consolidated_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, kept.id, merge.value ->> 'kind',
  iif((memory.happened_at, memory.id) > (kept.happened_at, kept.id), memory.happened_at, NULL),
  ?1 ->> 'consolidation_id', {NOW}
FROM json_each(?1, '$.merges') AS merge CROSS JOIN long_term_memory AS memory CROSS JOIN long_term_memory AS kept
WHERE memory.id = merge.value ->> 'other_id' AND +{_WHOSE.format(table="memory")} AND {_holds("memory")}
  AND kept.id = merge.value ->> 'kept_id' AND +{_WHOSE.format(table="kept")}
  AND {_holds("kept")} AND {_NOT_MOVING}
ON CONFLICT DO NOTHING
"""
# The links of chains are the claims of relations and of merges. The memory at the end of a chain is not superseded.
_LINKS = f"""
SELECT link.key, link.memory_id AS other_id, link.superseded_by AS via_id
FROM claim AS link
WHERE {_WHOSE.format(table="link")} AND link.key >= '~' AND link.key < ?1 ->> 'before' AND link.whole
  AND link.superseded_by IS NOT NULL
ORDER BY link.key DESC LIMIT {PAGE}
"""
_FURTHER = f"""
{_WHOSE.format(table="{further}")} AND {{further}}.memory_id = {{of}} AND {{further}}.key GLOB '~*'
  AND {{further}}.superseded_at IS NOT NULL
"""
_SHORTCUTS = f"""
INSERT INTO shortcut (tenant_id, agent_id, other_id, kept_id, via_id)
SELECT DISTINCT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', link.other_id, further.superseded_by, link.via_id
FROM ({_LINKS}) AS link CROSS JOIN claim AS further INDEXED BY claim_superseded_of
WHERE {_FURTHER.format(further="further", of="link.via_id")} AND further.superseded_by <> link.other_id
  AND (further.whole OR further.key GLOB '~>*') AND {_NOT_MOVING}
  AND NOT EXISTS (
    SELECT 1 FROM claim AS beyond INDEXED BY claim_superseded_of
    WHERE {_FURTHER.format(further="beyond", of="further.superseded_by")} AND beyond.whole
  )
  AND NOT EXISTS (
    SELECT 1 FROM claim AS direct INDEXED BY claim_superseded_of
    WHERE {_FURTHER.format(further="direct", of="link.other_id")} AND direct.superseded_by = further.superseded_by
  )
ON CONFLICT DO NOTHING RETURNING other_id
"""
_LAST_LINK = f"SELECT min(key) AS last, count(*) AS n FROM ({_LINKS})"
# A chain that has grown has another end: the shortcut to the former end is of no use.
_OUTDATED = f"""
DELETE FROM shortcut WHERE {_WHOSE.format(table="shortcut")} AND EXISTS (
  SELECT 1 FROM claim AS beyond INDEXED BY claim_superseded_of
  WHERE {_FURTHER.format(further="beyond", of="shortcut.kept_id")} AND beyond.whole
)
"""
_REPORT_COLUMNS = (
    "own.id, own.started_at, own.finished_at, own.undone_at, own.memories, own.facts, own.chains, own.tasks"
)
_READ = f"""
SELECT {_REPORT_COLUMNS} FROM consolidation AS own WHERE own.tenant_id = ?1 ->> 'tenant_id'
ORDER BY own.id DESC LIMIT ?1 ->> 'limit'
"""
_ONE = f"""
SELECT {_REPORT_COLUMNS} FROM consolidation AS own
WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.id = ?1 ->> 'consolidation_id'
"""
_MERGED = """
merged.tenant_id = ?1 ->> 'tenant_id' AND merged.consolidation_id = ?1 ->> 'consolidation_id' AND merged.undone = 0
"""
_COUNT = f"SELECT count(*) AS n FROM consolidated AS merged WHERE {_MERGED}"
_NAMED = f"""
SELECT merged.agent_id, merged.other_id, merged.kept_id, merged.kind
FROM consolidated AS merged INDEXED BY consolidated_of WHERE {_MERGED} LIMIT {MAX_NAMED}
"""
_UNDO = f"""
UPDATE consolidated SET undone = 1
WHERE tenant_id = ?1 ->> 'tenant_id' AND (agent_id, other_id, kept_id) IN (
  SELECT merged.agent_id, merged.other_id, merged.kept_id FROM consolidated AS merged INDEXED BY consolidated_of
  WHERE {_MERGED} LIMIT ?1 ->> 'most'
) RETURNING agent_id, other_id, kept_id, kind
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, event, detail, created_at, written_by)
SELECT ?1 ->> 'tenant_id', 'undone', json_object('consolidation', ?1 ->> 'consolidation_id', 'memories', chunk.n),
  ?1 ->> 'now', ?1 ->> 'by'
FROM (SELECT count(*) AS n FROM (SELECT 1 FROM consolidated AS merged WHERE {_MERGED} LIMIT ?1 ->> 'most')) AS chunk
WHERE chunk.n > 0
"""
_UNDONE = f"""
UPDATE consolidation SET undone_at = {NOW}
WHERE tenant_id = ?1 ->> 'tenant_id' AND id = ?1 ->> 'consolidation_id' AND undone_at IS NULL
  AND finished_at IS NOT NULL
"""
_IS_MORE = f"SELECT EXISTS (SELECT 1 FROM consolidated AS merged WHERE {_MERGED}) AS more"


@dataclass(frozen=True, slots=True)
class MemoryPosition:
    """A position among an agent's memories, newest first: right behind the memory of this time and id."""

    at: int
    id: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair of memories of which the newer restates the older, as a reader has found.

    ``older`` or ``newer`` is None where that memory is not to be merged.
    """

    older_id: str
    newer_id: str
    older: dict[str, Json] | None
    newer: dict[str, Json] | None

    @property
    def memories(self) -> tuple[Mergeable, Mergeable] | None:
        """The older and the newer memory, if both may be merged, else None."""
        if self.older is None or self.newer is None:
            return None
        return _mergeable(self.older), _mergeable(self.newer)


def _mergeable(told: Mapping[str, Json]) -> Mergeable:
    return Mergeable(**{**told, "learned": bool(told["learned"]), "is_read": bool(told["is_read"])})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Consolidating:
    """Statements of one agent's memories. Its scope is bound here, once."""

    scope: Scope

    def page(self, after: MemoryPosition | None) -> ScopedStatement:
        """Read the next memories, newest first, for ``read_page``."""
        place = {"at": None, "id": None} if after is None else {"at": after.at, "id": after.id}
        return ScopedStatement.read(self.scope, _PAGE, **place)

    def pairs(self, after: Pair | None) -> ScopedStatement:
        """Read the next pairs in which a reader has found a restatement, as rows of ``Pair``."""
        ids = ("", "") if after is None else (after.newer_id, after.older_id)
        return ScopedStatement.read(self.scope, _PAIRS, newer_id=ids[0], older_id=ids[1])

    def merge(self, consolidation_id: str, merges: Sequence[Merge]) -> ScopedStatement:
        """Merge memories, where both of a merge still hold; merges that were made already stay."""
        told: list[Json] = [{"other_id": one.other_id, "kept_id": one.kept_id, "kind": one.kind} for one in merges]
        return ScopedStatement.write(self.scope, _MERGE, consolidation_id=consolidation_id, merges=told)

    def shorten(self, before: str) -> list[ScopedStatement]:
        """Write shortcuts for the next links of chains, whose keys come before ``before``.

        The first statement returns a row for each shortcut, the second the ``last`` key and the number ``n`` of links.
        """
        return [
            ScopedStatement.write(self.scope, _SHORTCUTS, before=before),
            ScopedStatement.read(self.scope, _LAST_LINK, before=before),
        ]

    def drop_outdated(self) -> ScopedStatement:
        """Delete the shortcuts that lead to a memory which is superseded itself."""
        return ScopedStatement.write(self.scope, _OUTDATED)


def read_page(rows: Sequence[Row]) -> tuple[list[Mergeable], MemoryPosition | None]:
    """Return the memories of a page that may be merged, and the end of the page, or None where there are no more."""
    if not rows:
        return [], None
    return read_rows(Mergeable, [row for row in rows if row["holds"]]), MemoryPosition(
        int(rows[-1]["place"] or 0), str(rows[-1]["place_id"])
    )


def read_reports(rows: Sequence[Row]) -> list[Consolidation]:
    """Read the rows of ``reports``."""
    return read_rows(Consolidation, rows)


def reports(tenant: Tenant, limit: int) -> ScopedStatement:
    """Read a tenant's consolidations, newest first."""
    return ScopedStatement.read(tenant, _READ, limit=limit)


def forecast_undo(tenant: Tenant, consolidation_id: str) -> list[ScopedStatement]:
    """Read a consolidation, the number of merges (``n``) that an undo would take back, and the first of them."""
    return [ScopedStatement.read(tenant, sql, consolidation_id=consolidation_id) for sql in (_ONE, _COUNT, _NAMED)]


def undo(tenant: Tenant, consolidation_id: str, most: int, *, by: str | None, now: int) -> list[ScopedStatement]:
    """Take back the next merges of a consolidation, at most ``most``.

    The first statement returns the consolidation, the third a row of ``Merge`` for each merge that it has taken back,
    the last whether there are ``more``.
    """
    make = partial(ScopedStatement.write, tenant, consolidation_id=consolidation_id, most=most, by=by, now=now)
    return [
        ScopedStatement.read(tenant, _ONE, consolidation_id=consolidation_id),
        *map(make, (_AUDIT, _UNDO, _UNDONE)),
        ScopedStatement.read(tenant, _IS_MORE, consolidation_id=consolidation_id),
    ]
