"""Finds windows that are to give turns away. It crosses tenants; no request imports it."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ports.database import NOW, Row, Statement
from app.storage.lease_rule import holds
from app.storage.rows import read_rows
from app.storage.tiers.windows import BUSY_SECONDS

_MAX_WINDOWS = 32
_AGAIN_MS = 240_000
"""How long a window that was tried is left alone: other windows come first."""

_FREE = f"""
NOT {holds("window.busy_until", BUSY_SECONDS * 1000)} AND NOT {holds(f"(window.tried_at + {_AGAIN_MS})", _AGAIN_MS)}
"""
# Tenants take turns. Each part of the union reads an index, and ends where no window is due.
READ_DUE = Statement.read(f"""
SELECT tenant_id, agent_id, instance FROM (
  SELECT due.*, row_number() OVER (PARTITION BY tenant_id ORDER BY tried_at, agent_id, instance) AS turn FROM (
    SELECT window.tenant_id, window.agent_id, window.instance, window.tried_at FROM working_window AS window
    WHERE window.expires_at <= {NOW} AND {_FREE}
    UNION
    SELECT window.tenant_id, window.agent_id, window.instance, window.tried_at FROM working_window AS window
    WHERE window.over = 1 AND {_FREE}
  ) AS due
)
ORDER BY turn, tried_at LIMIT {_MAX_WINDOWS}
""")
"""Reads the next windows that are to give turns away and that no process has tried of late: rows of ``DueWindow``."""


@dataclass(frozen=True, slots=True)
class DueWindow:
    """A window of an agent's instance."""

    tenant_id: str
    agent_id: str
    instance: str


def read_due(rows: Sequence[Row]) -> list[DueWindow]:
    """Read the rows of ``READ_DUE``."""
    return read_rows(DueWindow, rows)
