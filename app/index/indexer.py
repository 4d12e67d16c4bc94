"""Brings the index up to date with the outbox, in the background. Crosses tenants; no request imports it."""

import asyncio
import json
from dataclasses import dataclass
from itertools import groupby

import structlog

from app.errors import Unavailable
from app.index.outbox import NOW, Deliveries, Delivery, decode
from app.model import Json, Scope
from app.ports.database import Database, Row, Statement
from app.ports.vector_index import IndexedVector, VectorIndex

_BATCH = 500
_PAUSE_SECONDS = 2.0
_GRACE_MS = 60_000
"""A row this old has lost its request: whoever queued it has had its deadline."""

_DUE = f"""
SELECT outbox.tenant_id, outbox.agent_id, outbox.id, outbox.operation, outbox.revision, outbox.vector,
  memory.created_at, memory.metadata
FROM outbox LEFT JOIN long_term_memory AS memory
  ON memory.tenant_id = outbox.tenant_id AND memory.agent_id = outbox.agent_id AND memory.id = outbox.id
WHERE outbox.revision <= {NOW} - iif(outbox.operation = 'delete', ?1 ->> 'grace', ?1 ->> 'age')
  AND (outbox.revision, outbox.id) > (?1 ->> 'after_revision', ?1 ->> 'after_id')
ORDER BY outbox.revision, outbox.id LIMIT ?1 ->> 'most'
"""

_CONFIRM = """
DELETE FROM outbox WHERE (tenant_id, agent_id, id, revision) IN (
  SELECT value ->> 'tenant_id', value ->> 'agent_id', value ->> 'id', value ->> 'revision' FROM json_each(?1)
)
"""


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often the indexer works, in seconds: confirms what was delivered, and looks for rows that were not."""

    confirm: float = 0.25
    sweep: float = 30.0


class Indexer:
    """Removes what is delivered from the outbox and delivers what a request could not."""

    def __init__(self, database: Database, index: VectorIndex, deliveries: Deliveries) -> None:
        """Take the ports and this process's deliveries; nothing runs yet."""
        self._database = database
        self._index = index
        self._deliveries = deliveries

    async def run(self, cadence: Cadence) -> None:
        """Work until cancelled.

        An unavailable part is logged and tried again after a pause; anything else is a defect and is raised.
        """
        loop = asyncio.get_running_loop()
        next_sweep = loop.time() + cadence.sweep
        while True:
            await asyncio.sleep(cadence.confirm)
            try:
                await self.confirm()
                if loop.time() >= next_sweep:
                    next_sweep = loop.time() + cadence.sweep
                    await self.deliver(older_than_ms=_GRACE_MS)
            except Unavailable as error:
                structlog.get_logger().warning("indexer_waits", code=error.code, reason=error.detail)
                await asyncio.sleep(_PAUSE_SECONDS)

    async def confirm(self) -> int:
        """Remove from the outbox what this process delivered and the index shows. Return how many."""
        if not self._deliveries:
            return 0
        taken = self._deliveries.take(await self._index.watermark())
        try:
            await self._confirm(taken)
        except Unavailable:
            for delivery in taken:
                self._deliveries.add(delivery)
            raise
        return len(taken)

    async def check_writable(self) -> None:
        """Raise ``DatabaseUnavailable`` if the outbox can be read but not written."""
        await self._database.run([Statement("DELETE FROM outbox WHERE FALSE", writes=True, repeatable=True)])

    async def deliver(self, *, older_than_ms: int = 0) -> int:
        """Send the queued changes that are older than this, and return how many there were.

        A deletion always waits for its grace: a slow upsert of the same vector may still be under way. What was
        delivered and is not confirmed is sent again: an index's watermark may stand still while nothing is
        written to it, and this moves it.
        """
        total, after = 0, (0, "")
        while rows := await self._due(older_than_ms, after):
            after = (int(rows[-1]["revision"] or 0), str(rows[-1]["id"]))
            await self._send(rows)
            await self.confirm()
            total += len(rows)
        if total:
            structlog.get_logger().info("outbox_delivered", rows=total)
        return total

    async def _due(self, older_than_ms: int, after: tuple[int, str]) -> list[Row]:
        argument: dict[str, Json] = {
            "age": older_than_ms,
            "grace": _GRACE_MS,
            "after_revision": after[0],
            "after_id": after[1],
            "most": _BATCH,
        }
        (rows,) = await self._database.run([Statement(_DUE, argument)])
        return rows

    async def _send(self, rows: list[Row]) -> None:
        """Bring the index to what the rows say. A queued vector whose memory is gone is removed as well."""
        wanted = [row for row in rows if _is_wanted(row)]
        if wanted:
            self._sent(wanted, await self._index.upsert([_vector(row) for row in wanted]))
        gone = sorted((row for row in rows if not _is_wanted(row)), key=_scope_key)
        for _, group in groupby(gone, key=_scope_key):
            removed = list(group)
            self._sent(removed, await self._index.delete(_scope(removed[0]), [str(row["id"]) for row in removed]))

    def _sent(self, rows: list[Row], acknowledged_at: int) -> None:
        for row in rows:
            self._deliveries.add(Delivery(_scope(row), str(row["id"]), int(row["revision"] or 0), acknowledged_at))

    async def _confirm(self, deliveries: list[Delivery]) -> None:
        argument: list[Json] = [
            {
                "tenant_id": delivery.scope.tenant_id,
                "agent_id": delivery.scope.agent_id,
                "id": delivery.id,
                "revision": delivery.revision,
            }
            for delivery in deliveries
        ]
        if argument:
            await self._database.run([Statement(_CONFIRM, argument, writes=True, repeatable=True)])


def _is_wanted(row: Row) -> bool:
    return row["operation"] == "upsert" and row["metadata"] is not None


def _scope(row: Row) -> Scope:
    return Scope(str(row["tenant_id"]), str(row["agent_id"]))


def _scope_key(row: Row) -> tuple[str, str]:
    return str(row["tenant_id"]), str(row["agent_id"])


def _vector(row: Row) -> IndexedVector:
    return IndexedVector(
        scope=_scope(row),
        id=str(row["id"]),
        values=decode(str(row["vector"])),
        created_at=int(row["created_at"] or 0),
        revision=int(row["revision"] or 0),
        metadata=json.loads(str(row["metadata"])),
    )
