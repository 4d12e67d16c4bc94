"""The indexer's statements: marks to write and work to take. They cross tenants; no request imports them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.delivery import Acknowledgement, Kind, RowKey
from app.domain.embedding import EmbeddingConfig
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.ports.database import NOW, Row, Statement
from app.ports.vector_index import IndexedVector
from app.storage.admission import KEPT_MS
from app.storage.embedding_configs import AS_JSON, config_of
from app.storage.outbox import decode
from app.storage.request_state import INDEXER
from app.storage.system import leases, outbox_status
from app.storage.system.outbox_status import OutboxStatus

NEVER = 2**53 - 1
"""A ``due_at`` that does not come."""

_LINGER_MS = 60_000
"""For so long a confirmed row is still scored: a recall asks the index before the database, and takes less."""
_WAIT_MS = 60_000
_MAX_REFUSALS = 3
_MAX_SEND = 500
_MAX_CONFIRM = 1000
_MAX_MARKS = 2000
"""Of one statement: its argument stays well below the 2 MB that D1 takes."""

_MARKED = """
FROM (
  SELECT value ->> 'tenant_id' AS tenant_id, value ->> 'agent_id' AS agent_id, value ->> 'id' AS id,
    value ->> 'index_name' AS index_name, value ->> 'revision' AS revision, value ->> 'at' AS at,
    value ->> 'reason' AS reason, value ->> 'confirm_ms' AS confirm_ms
  FROM json_each(?1, '$.marks')
) AS mark
WHERE outbox.tenant_id = mark.tenant_id AND outbox.agent_id = mark.agent_id AND outbox.id = mark.id
  AND outbox.index_name = mark.index_name AND outbox.revision = mark.revision
"""
_CHANGES: dict[Kind, str] = {
    "acknowledged": (f"acknowledged_at = coalesce(outbox.acknowledged_at, mark.at), due_at = {NOW} + mark.confirm_ms"),
    "lost": f"acknowledged_at = NULL, due_at = {NOW}",
    "waits": f"due_at = {NOW} + {_WAIT_MS}",
    "confirmed": f"confirmed_at = {NOW}, due_at = {NOW} + {_LINGER_MS}",
    "refused": (
        "refusals = outbox.refusals + 1, acknowledged_at = NULL, "
        f"dead = iif(outbox.refusals + 1 < {_MAX_REFUSALS}, NULL, mark.reason), "
        f"due_at = iif(outbox.refusals + 1 < {_MAX_REFUSALS}, {NOW} + {_WAIT_MS} * (outbox.refusals + 1), {NEVER})"
    ),
}
_SETTLED = """
DELETE FROM outbox WHERE (tenant_id, agent_id, id, index_name, revision) IN (
  SELECT value ->> 'tenant_id', value ->> 'agent_id', value ->> 'id', value ->> 'index_name', value ->> 'revision'
  FROM json_each(?1, '$.marks')
)
"""

# A run that stopped between the two statements of a delete leaves the memory; whoever asked was not told it is gone.
# An import that undid a deletion has queued the memory's vector again, for the index in use at least.
_FINISH_DELETES = f"""
DELETE FROM long_term_memory WHERE rowid IN (
  SELECT memory.rowid FROM outbox CROSS JOIN long_term_memory AS memory
  WHERE outbox.due_at <= {NOW} AND outbox.operation = 'delete' AND memory.id = outbox.id
    AND memory.tenant_id = outbox.tenant_id AND memory.agent_id = outbox.agent_id
    AND NOT EXISTS (
      SELECT 1 FROM outbox AS restored
      WHERE restored.tenant_id = outbox.tenant_id AND restored.agent_id = outbox.agent_id AND restored.id = outbox.id
        AND restored.operation = 'upsert'
    )
)
"""
# So does one that stopped between the two of a store: the vector has no memory.
_FINISH_STORES = f"""
UPDATE outbox SET operation = 'delete', vector = NULL
WHERE outbox.due_at <= {NOW} AND outbox.operation = 'upsert'
  AND NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = outbox.id)
"""
# With them what is queued for an index that is kept no longer.
_FORGET_CONFIRMED = f"""
DELETE FROM outbox WHERE due_at <= {NOW} AND (
  confirmed_at IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM embedding_config AS config WHERE config.index_name = outbox.index_name)
)
"""
_FORGET_KEYS = f"DELETE FROM idempotency WHERE created_at <= {NOW} - {KEPT_MS}"

_DUE = f"""
SELECT outbox.tenant_id, outbox.agent_id, outbox.id, outbox.index_name, outbox.operation, outbox.revision,
  outbox.acknowledged_at {{more}}
FROM outbox {{join}}
WHERE outbox.due_at <= {NOW} AND outbox.confirmed_at IS NULL AND outbox.acknowledged_at IS {{state}}
  AND EXISTS (
    SELECT 1 FROM lease WHERE lease.name = ?1 ->> 'name' AND lease.holder = ?1 ->> 'holder' AND lease.expires_at > {NOW}
  )
{{last}}
"""
_VECTOR = ", outbox.vector, memory.created_at, memory.metadata"
_MEMORY = "LEFT JOIN long_term_memory AS memory ON memory.id = outbox.id AND memory.tenant_id = outbox.tenant_id"
_OLDEST = "ORDER BY outbox.due_at, outbox.id LIMIT {most}"
_UNSENT = _DUE.format(more=_VECTOR, join=_MEMORY, state="NULL", last=_OLDEST.format(most=_MAX_SEND))
_SENT = _DUE.format(more="", join="", state="NOT NULL", last=_OLDEST.format(most=_MAX_CONFIRM))
_LAST_SENT = _DUE.format(
    more=f"{_VECTOR}, max(outbox.due_at)",
    join=_MEMORY,
    state="NOT NULL AND outbox.operation = 'upsert'",
    last="GROUP BY outbox.index_name",
)
_CONFIGS = f"SELECT {AS_JSON} AS config FROM embedding_config AS config"

_NEXT = f"SELECT min(due_at) - {NOW} AS milliseconds FROM outbox"
_ERASURES = "SELECT id, tenant_id, agent_id FROM erasure WHERE receipt IS NULL ORDER BY accepted_at LIMIT 8"


@dataclass(frozen=True, slots=True)
class Work:
    """What one run of the database gave the indexer.

    Attributes:
        held: Whether this process holds the lease; where not, there is nothing to do.
        unsent: Rows to send.
        sent: Rows to confirm, without their vectors.
        last_sent: Of each index the last upsert of those sent, with its vector.
        configs: The embedding configs that are kept, by the name of their index.
        erasures: Erasures under way.
        next_ms: In how many milliseconds another row is due; None where no row is left.
        status: How the outbox stood.
    """

    held: bool
    unsent: Sequence[Row]
    sent: Sequence[Row]
    last_sent: Sequence[Row]
    configs: Mapping[str, EmbeddingConfig]
    erasures: Sequence[Row]
    next_ms: int | None
    status: OutboxStatus

    def by_config(self, rows: Sequence[Row]) -> Iterator[tuple[EmbeddingConfig, list[Row]]]:
        """Group rows by the config whose index they are for."""
        for name, group in by_index(rows):
            if name in self.configs:
                yield self.configs[name], group


def take(holder: str, acknowledgements: Sequence[Acknowledgement]) -> list[Statement]:
    """Write the marks, take or renew the lease and read what is due: ``read`` reads the answer."""
    who: dict[str, Json] = {"name": INDEXER, "holder": holder}
    return [
        *write(acknowledgements),
        leases.hold(INDEXER, holder),
        Statement(_FINISH_DELETES, writes=True, repeatable=True),
        Statement(_FINISH_STORES, writes=True, repeatable=True),
        Statement(_FORGET_CONFIRMED, writes=True, repeatable=True),
        Statement(_FORGET_KEYS, writes=True, repeatable=True),
        Statement(_UNSENT, who),
        Statement(_SENT, who),
        Statement(_LAST_SENT, who),
        Statement(_CONFIGS),
        Statement(_ERASURES),
        Statement(_NEXT),
        outbox_status.READ,
    ]


READS = 12
"""How many results of ``take`` come after those of the marks."""


def read(results: Sequence[list[Row]]) -> Work:
    """Read the last ``READS`` results of ``take``."""
    leased, _, _, _, _, unsent, sent, last_sent, configs, erasures, (next_,), (figures,) = results
    milliseconds = next_["milliseconds"]
    return Work(
        held=bool(leased),
        unsent=unsent,
        sent=sent,
        last_sent=last_sent,
        configs={config.index_name: config for config in (config_of(str(row["config"])) for row in configs)},
        erasures=erasures if leased else [],
        next_ms=None if milliseconds is None else int(milliseconds),
        status=outbox_status.status(figures),
    )


def write(acknowledgements: Sequence[Acknowledgement]) -> list[Statement]:
    """Write the marks, each only if the row still has its revision: a statement or more for each kind."""
    return [
        Statement(
            _SETTLED if kind == "settled" else f"UPDATE outbox SET {_CHANGES[kind]} {_MARKED}",
            {"marks": [_as_json(mark) for mark in of_kind[start : start + _MAX_MARKS]]},
            writes=True,
            repeatable=kind != "refused",
        )
        for kind in dict.fromkeys(mark.kind for mark in acknowledgements)
        for of_kind in [[mark for mark in acknowledgements if mark.kind == kind]]
        for start in range(0, len(of_kind), _MAX_MARKS)
    ]


def key(row: Row) -> RowKey:
    """Name the revision that a row is at."""
    scope = Scope(str(row["tenant_id"]), str(row["agent_id"]))
    return RowKey(scope, str(row["id"]), str(row["index_name"]), int(row["revision"] or 0))


def vector(row: Row, dimensions: int) -> IndexedVector:
    """Make what is sent of a row that was read with its vector."""
    row_key = key(row)
    return IndexedVector(
        scope=row_key.scope,
        id=row_key.id,
        values=decode(str(row["vector"]), dimensions),
        created_at=int(row["created_at"] or 0),
        revision=row_key.revision,
        metadata=json.loads(str(row["metadata"])),
    )


def by_index(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Group rows by the name of their index."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(str(row["index_name"]), []).append(row)
    yield from groups.items()


def by_scope(rows: Sequence[Row]) -> Iterator[tuple[Scope, list[Row]]]:
    """Group rows by whose they are."""
    groups: dict[Scope, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row).scope, []).append(row)
    yield from groups.items()


def _as_json(mark: Acknowledgement) -> Json:
    return {
        "tenant_id": mark.row.scope.tenant_id,
        "agent_id": mark.row.scope.agent_id,
        "id": mark.row.id,
        "index_name": mark.row.index_name,
        "revision": mark.row.revision,
        "at": mark.at,
        "reason": mark.reason,
        "confirm_ms": mark.confirm_ms,
    }
