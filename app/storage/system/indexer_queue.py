"""The indexer's statements: write delivery acknowledgements and read the work that is due.

They cross tenants; no request imports them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.delivery import Acknowledgement, OutboxKey, Outcome
from app.domain.embedding import EmbeddingConfig, decode, lengths
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.ports.database import NOW, Row, Statement
from app.ports.vector_index import IndexedVector
from app.storage.embedding_configs import ACTIVE, READ_ALL, read_all
from app.storage.idempotency import KEPT_MS
from app.storage.lease_rule import holds, void
from app.storage.rows import read_row, read_rows
from app.storage.system import outbox_status
from app.storage.system.erasing import DATE_ANEW, READY, RunningErasure
from app.storage.system.index_build import BUILDING
from app.storage.system.leases import INDEXER, Lease, read_leases
from app.storage.system.outbox_status import OutboxStatus

NEVER = 2**53 - 1
"""A ``due_at`` that never comes."""

_LINGER_MS = 60_000
"""How long a confirmed row is still scored. A recall asks the index before the database, and takes less than this."""
_WAIT_MS = 60_000
_MAX_REFUSALS = 3
_LONGEST_WAIT_MS = 600_000
"""This is longer than any index needs to show a write, and longer than all waits here."""
_MAX_SEND = 500
_MAX_CONFIRM = 1000
_MAX_RANKED = 5000
"""Rows that are due the longest, and as many that have just become due: more than erasures queue in a round."""
_MAX_ACKNOWLEDGEMENTS = 2000
"""Acknowledgements of one statement: its argument stays well below the 2 MB that D1 accepts."""

_ACKNOWLEDGED_ROWS = """
FROM (
  SELECT value ->> 'tenant_id' AS tenant_id, value ->> 'agent_id' AS agent_id, value ->> 'id' AS id,
    value ->> 'index_name' AS index_name, value ->> 'revision' AS revision, value ->> 'at' AS at,
    value ->> 'reason' AS reason, value ->> 'confirm_ms' AS confirm_ms
  FROM json_each(?1, '$.acknowledgements')
) AS acknowledgement
WHERE outbox.tenant_id = acknowledgement.tenant_id AND outbox.agent_id = acknowledgement.agent_id
  AND outbox.id = acknowledgement.id AND outbox.index_name = acknowledgement.index_name
  AND outbox.revision = acknowledgement.revision
"""
_WRITES: dict[Outcome, str] = {
    "acknowledged": f"""
UPDATE outbox SET acknowledged_at = coalesce(outbox.acknowledged_at, acknowledgement.at),
  due_at = {NOW} + acknowledgement.confirm_ms
{_ACKNOWLEDGED_ROWS}""",
    # A vector that is sent again gets a newer revision than any change that may have removed it.
    "lost": f"""
UPDATE outbox SET acknowledged_at = NULL, due_at = {NOW},
  revision = iif(outbox.operation = 'upsert', max({NOW}, outbox.revision + 1), outbox.revision)
{_ACKNOWLEDGED_ROWS}""",
    "waits": f"UPDATE outbox SET due_at = {NOW} + {_WAIT_MS} {_ACKNOWLEDGED_ROWS}",
    "confirmed": f"UPDATE outbox SET confirmed_at = {NOW}, due_at = {NOW} + {_LINGER_MS} {_ACKNOWLEDGED_ROWS}",
    "settled": """
DELETE FROM outbox WHERE (tenant_id, agent_id, id, index_name, revision) IN (
  SELECT value ->> 'tenant_id', value ->> 'agent_id', value ->> 'id', value ->> 'index_name', value ->> 'revision'
  FROM json_each(?1, '$.acknowledgements')
)""",
    "refused": f"""
UPDATE outbox SET refusals = outbox.refusals + 1, acknowledged_at = NULL,
  dead = iif(outbox.refusals + 1 < {_MAX_REFUSALS}, NULL, acknowledgement.reason),
  due_at = iif(outbox.refusals + 1 < {_MAX_REFUSALS}, {NOW} + {_WAIT_MS} * (outbox.refusals + 1), {NEVER})
{_ACKNOWLEDGED_ROWS}""",
}

# A run that stopped between the two statements of a delete leaves the memory; the caller was not told that it is gone.
# The active index tells, whose removal every write that undoes a deletion replaces by the memory's vector. The shadow's
# removal may stay, where its vector could not be made: then it removes the old vector, and not the memory.
_FINISH_DELETES = Statement.write(f"""
DELETE FROM long_term_memory WHERE rowid IN (
  SELECT memory.rowid FROM outbox CROSS JOIN long_term_memory AS memory
  WHERE outbox.due_at <= {NOW} AND outbox.operation = 'delete' AND outbox.index_name = {ACTIVE}
    AND memory.id = outbox.id AND memory.tenant_id = outbox.tenant_id AND memory.agent_id = outbox.agent_id
)
""")
# A run that stopped between the two statements of a store leaves a queued vector without a memory.
_FINISH_STORES = Statement.write(f"""
UPDATE outbox SET operation = 'delete', vector = NULL
WHERE outbox.due_at <= {NOW} AND outbox.operation = 'upsert'
  AND NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = outbox.id)
""")
# Rows of an index that no config in use has are deleted as well.
_DELETE_CONFIRMED = Statement.write(f"""
DELETE FROM outbox WHERE due_at <= {NOW} AND (
  confirmed_at IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM embedding_config AS config WHERE config.index_name = outbox.index_name)
)
""")
# A row that is due so late was queued while the database's clock was ahead, and would wait for that long.
_DATE_ROWS_ANEW = Statement.write(
    f"UPDATE outbox SET due_at = {NOW} WHERE {void('outbox.due_at', _LONGEST_WAIT_MS)} AND outbox.due_at < {NEVER}"
)
_DELETE_OLD_KEYS = Statement.write(f"DELETE FROM idempotency WHERE created_at <= {NOW} - {KEPT_MS}")

_LEASE_HELD = f"""EXISTS (
  SELECT 1 FROM lease WHERE lease.name = ?1 ->> 'name' AND lease.holder = ?1 ->> 'holder'
    AND {holds("lease.expires_at", INDEXER.longest_ms)}
)"""
# Tenants take turns: each tenant's first row, then each tenant's second row, and so on. The rows are those that have
# been due the longest, and those that have just become due. So a tenant's thousands of rows do not hold up another
# tenant's few, which have just become due, and not all of the thousands are ranked. Only the index on due_at is read.
_DUE = f"""
FROM (
  SELECT ranked.tenant_id, ranked.agent_id, ranked.id, ranked.index_name, ranked.due_at, ranked.turn
  FROM (
    SELECT tenant_id, agent_id, id, index_name, due_at,
      row_number() OVER (PARTITION BY tenant_id ORDER BY due_at, id) AS turn
    FROM (
      SELECT * FROM (
        SELECT tenant_id, agent_id, id, index_name, due_at FROM outbox INDEXED BY outbox_due
        WHERE due_at <= {NOW} AND index_name NOT IN {BUILDING} AND {_LEASE_HELD} ORDER BY due_at LIMIT {_MAX_RANKED}
      )
      UNION
      SELECT * FROM (
        SELECT tenant_id, agent_id, id, index_name, due_at FROM outbox INDEXED BY outbox_due
        WHERE due_at <= {NOW} AND index_name NOT IN {BUILDING} AND {_LEASE_HELD}
        ORDER BY due_at DESC LIMIT {_MAX_RANKED}
      )
    )
  ) AS ranked
  ORDER BY ranked.turn, ranked.due_at, ranked.id LIMIT {_MAX_SEND + _MAX_CONFIRM}
) AS due CROSS JOIN outbox ON outbox.tenant_id = due.tenant_id AND outbox.agent_id = due.agent_id
  AND outbox.id = due.id AND outbox.index_name = due.index_name
"""
_UNSENT = f"""
SELECT outbox.tenant_id, outbox.agent_id, outbox.id, outbox.index_name, outbox.operation, outbox.revision,
  outbox.acknowledged_at, outbox.vector, memory.created_at, memory.metadata
{_DUE}
LEFT JOIN long_term_memory AS memory ON memory.id = outbox.id AND memory.tenant_id = outbox.tenant_id
WHERE outbox.confirmed_at IS NULL AND outbox.acknowledged_at IS NULL
ORDER BY due.turn, due.due_at, due.id LIMIT {_MAX_SEND}
"""
_SENT = f"""
SELECT outbox.tenant_id, outbox.agent_id, outbox.id, outbox.index_name, outbox.operation, outbox.revision,
  outbox.acknowledged_at
{_DUE}
WHERE outbox.confirmed_at IS NULL AND outbox.acknowledged_at IS NOT NULL
ORDER BY due.turn, due.due_at, due.id LIMIT {_MAX_CONFIRM}
"""
_LAST_SENT = f"""
SELECT outbox.tenant_id, outbox.agent_id, outbox.id, outbox.index_name, outbox.operation, outbox.revision,
  outbox.acknowledged_at, outbox.vector, memory.created_at, memory.metadata, max(outbox.due_at)
FROM outbox LEFT JOIN long_term_memory AS memory ON memory.id = outbox.id AND memory.tenant_id = outbox.tenant_id
WHERE outbox.due_at <= {NOW} AND outbox.confirmed_at IS NULL AND outbox.acknowledged_at IS NOT NULL
  AND outbox.operation = 'upsert' AND {_LEASE_HELD}
GROUP BY outbox.index_name
"""
_NEXT_DUE = Statement.read(f"SELECT min(due_at) - {NOW} AS milliseconds FROM outbox")

CHECK_WRITABLE = Statement.write("DELETE FROM outbox WHERE FALSE")
"""Changes nothing, and fails where the outbox can be read but not written."""


@dataclass(frozen=True, slots=True)
class QueuedChange:
    """A row of the outbox: the upsert or the delete of a vector.

    The last three fields are read only where the vector is sent; a delete has none of them.
    """

    tenant_id: str
    agent_id: str
    id: str
    index_name: str
    operation: str
    revision: int
    acknowledged_at: int | None = None
    vector: str | None = None
    created_at: int | None = None
    metadata: dict[str, Any] | None = None

    @property
    def key(self) -> OutboxKey:
        """Return the key of the revision that was read."""
        return OutboxKey(self.scope, self.id, self.index_name, self.revision)

    @property
    def scope(self) -> Scope:
        """Return the scope of the memory."""
        return Scope(self.tenant_id, self.agent_id)

    def is_readable(self, dimensions: int) -> bool:
        """Return whether the row has no vector, or a vector of this many dimensions; else the vector is damaged."""
        return self.vector is None or len(self.vector) in lengths(dimensions)

    def to_index(self, dimensions: int) -> IndexedVector:
        """Return the vector as it is sent to the index.

        Raises:
            ValueError: the vector is damaged.
        """
        return IndexedVector(
            scope=self.scope,
            id=self.id,
            values=decode(self.vector or "", dimensions),
            created_at=self.created_at or 0,
            revision=self.revision,
            metadata=self.metadata or {},
        )


@dataclass(frozen=True, slots=True)
class IndexerWork:
    """The work that one run of the database gives to the indexer.

    Attributes:
        leased: Whether this process holds the lease; if not, there is nothing to do.
        lease: The lease as it was before this run, if there was one.
        unsent: Changes to send.
        sent: Changes to confirm, without their vectors.
        last_sent: The last upsert sent to each index, with its vector.
        configs: The embedding configs in use, by the name of their index.
        erasures: Erasures whose turn has come, in the order of their turns.
        next_ms: In how many milliseconds the next row is due; None where no row is left.
        status: The status of the outbox.
    """

    leased: bool
    lease: Lease | None
    unsent: Sequence[QueuedChange]
    sent: Sequence[QueuedChange]
    last_sent: Sequence[QueuedChange]
    configs: Mapping[str, EmbeddingConfig]
    erasures: Sequence[RunningErasure]
    next_ms: int | None
    status: OutboxStatus

    def by_config(self, changes: Sequence[QueuedChange]) -> Iterator[tuple[EmbeddingConfig, list[QueuedChange]]]:
        """Group changes by the config of their index."""
        groups: dict[str, list[QueuedChange]] = {}
        for change in changes:
            groups.setdefault(change.index_name, []).append(change)
        for name, group in groups.items():
            if name in self.configs:
                yield self.configs[name], group


@dataclass(frozen=True, slots=True)
class _NextDue:
    milliseconds: int | None


def take(holder: str, acknowledgements: Sequence[Acknowledgement], *, lease_ms: int) -> list[Statement]:
    """Write acknowledgements, take or renew the lease and read the work that is due; ``read`` reads the results."""
    return [
        *write(acknowledgements),
        INDEXER.read(),
        INDEXER.hold(holder, lease_ms),
        _DATE_ROWS_ANEW,
        DATE_ANEW,
        _FINISH_DELETES,
        _FINISH_STORES,
        _DELETE_CONFIRMED,
        _DELETE_OLD_KEYS,
        *(Statement.read(sql, name=INDEXER.name, holder=holder) for sql in (_UNSENT, _SENT, _LAST_SENT)),
        READ_ALL,
        READY,
        _NEXT_DUE,
        outbox_status.READ,
    ]


_RESULTS = 15
"""How many results of ``take`` follow those of ``write``."""


def read(results: Sequence[list[Row]]) -> IndexerWork:
    """Read the results of ``take``."""
    found, leased, _, _, _, _, _, _, unsent, sent, last_sent, configs, erasures, (next_due,), (status,) = results[
        -_RESULTS:
    ]
    return IndexerWork(
        leased=bool(leased),
        lease=next(iter(read_leases(found)), None),
        unsent=read_rows(QueuedChange, unsent),
        sent=read_rows(QueuedChange, sent),
        last_sent=read_rows(QueuedChange, last_sent),
        configs={config.index_name: config for config in read_all(configs)},
        erasures=read_rows(RunningErasure, erasures) if leased else [],
        next_ms=read_row(_NextDue, next_due).milliseconds,
        status=outbox_status.read(status),
    )


def write(acknowledgements: Sequence[Acknowledgement]) -> list[Statement]:
    """Write acknowledgements, each only if its row still has that revision: one or more statements per outcome."""
    groups: dict[Outcome, list[Json]] = {}
    for acknowledgement in acknowledgements:
        groups.setdefault(acknowledgement.outcome, []).append(_as_json(acknowledgement))
    return [
        Statement.write(
            _WRITES[outcome],
            repeatable=outcome != "refused",
            acknowledgements=group[start : start + _MAX_ACKNOWLEDGEMENTS],
        )
        for outcome, group in groups.items()
        for start in range(0, len(group), _MAX_ACKNOWLEDGEMENTS)
    ]


def _as_json(acknowledgement: Acknowledgement) -> Json:
    key = acknowledgement.key
    return {
        **key.scope.argument,
        "id": key.id,
        "index_name": key.index_name,
        "revision": key.revision,
        "at": acknowledgement.at,
        "reason": acknowledgement.reason,
        "confirm_ms": acknowledgement.confirm_ms,
    }
