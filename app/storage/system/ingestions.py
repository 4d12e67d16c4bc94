"""Finds ingestions that no process works on any more. It crosses tenants; no request imports it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from app.domain.author import Author, WriteChannel
from app.ports.database import NOW, Row, Statement
from app.storage.ingestions import MAX_PAUSE_MS
from app.storage.lease_rule import LEASE_MS, holds, void
from app.storage.rows import read_rows
from app.storage.system.leases import Lease, read_leases

_MAX_INGESTIONS = 32
_TAKEN_MS = 120_000
"""The messages of an ingestion are taken within this time at most."""

# Tenants take turns.
READ_ABANDONED = Statement.read(f"""
SELECT id, tenant_id, agent_id, session_id, written_by, written_through, issued_at, speakers,
  'ingestion' AS name, coalesce(lease_holder, '') AS holder, coalesce(lease_expires_at, 0) - {NOW} AS left_ms,
  {void("lease_expires_at", f"iif(lease_holder IS NULL, {MAX_PAUSE_MS}, {LEASE_MS})")} AS void
FROM (
  SELECT ingestion.*, row_number() OVER (PARTITION BY tenant_id ORDER BY id) AS turn FROM ingestion
  WHERE finished_at IS NULL AND NOT CASE
    WHEN staged_at IS NULL THEN {holds(f"(accepted_at + {_TAKEN_MS})", _TAKEN_MS)}
    WHEN lease_holder IS NULL THEN {holds("lease_expires_at", MAX_PAUSE_MS)}
    ELSE {holds("lease_expires_at")} END
)
ORDER BY turn, id LIMIT {_MAX_INGESTIONS}
""")
"""Reads the next ingestions that no process works on, as rows of ``AbandonedIngestion``."""


@dataclass(frozen=True, slots=True)
class AbandonedIngestion:
    """An ingestion that no process works on, and the author who sent it."""

    id: str
    tenant_id: str
    agent_id: str
    session_id: str
    written_by: str | None
    written_through: str
    issued_at: int | None
    speakers: Sequence[str] | None
    lease: Lease | None = None

    @property
    def author(self) -> Author:
        """The author who sent the ingestion, with the rights that it needs."""
        speakers = None if self.speakers is None else frozenset(self.speakers)
        return Author(self.written_by, cast(WriteChannel, self.written_through), self.issued_at, speakers=speakers)


def read_abandoned(rows: Sequence[Row]) -> list[AbandonedIngestion]:
    """Read the rows of ``READ_ABANDONED``."""
    both = zip(read_rows(AbandonedIngestion, rows), read_leases(rows), strict=True)
    return [replace(abandoned, lease=lease) for abandoned, lease in both]
