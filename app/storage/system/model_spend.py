"""Statements that keep what the tenants' calls of models cost. They cross tenants; no request imports them."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.json_types import Json
from app.ports.database import Row, Statement
from app.storage.rows import read_rows
from app.storage.system import departures

_ADD = f"""
INSERT INTO model_spend (tenant_id, day, stage, calls, tokens)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?1, '$.spent')
WHERE {departures.stays("value ->> 0")}
ON CONFLICT (tenant_id, day, stage) DO UPDATE SET calls = calls + excluded.calls, tokens = tokens + excluded.tokens
"""
_TOTALS = """
SELECT spend.tenant_id, sum(spend.calls) AS calls, sum(spend.tokens) AS tokens
FROM json_each(?1, '$.tenants') AS named JOIN model_spend AS spend ON spend.tenant_id = named.value
WHERE spend.day = ?1 ->> 'day' GROUP BY spend.tenant_id
"""


@dataclass(frozen=True, slots=True)
class _Total:
    tenant_id: str
    calls: int
    tokens: int


def add(spent: Sequence[tuple[str, int, str, int, int]]) -> Statement:
    """Add what was spent, each row as tenant, day, stage, calls, tokens, except late rows (``departures``).

    A statement that is run twice counts each row twice.
    """
    rows: list[Json] = [list(each) for each in spent]
    return Statement.write(_ADD, repeatable=False, spent=rows)


def totals(day: int, tenant_ids: Sequence[str]) -> Statement:
    """Read the calls and tokens of these tenants on a day, of all processes: rows for ``read_totals``."""
    return Statement.read(_TOTALS, day=day, tenants=list(tenant_ids))


def read_totals(rows: Sequence[Row]) -> dict[str, tuple[int, int]]:
    """Return calls and tokens by tenant; a tenant that has spent nothing is left out."""
    return {total.tenant_id: (total.calls, total.tokens) for total in read_rows(_Total, rows)}
