"""Statements that keep what the tenants' calls of models cost. They cross tenants; no request imports them."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.json_types import Json
from app.ports.database import Row, Statement
from app.storage.rows import read_rows

KEPT_DAYS = 35
"""For so long days are kept, of a tenant that still causes calls."""

_ADD = """
INSERT INTO model_spend (tenant_id, day, stage, calls, tokens)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?1, '$.spent') WHERE TRUE
ON CONFLICT (tenant_id, day, stage) DO UPDATE SET calls = calls + excluded.calls, tokens = tokens + excluded.tokens
"""
_FORGET = """
DELETE FROM model_spend WHERE tenant_id IN (SELECT DISTINCT value ->> 0 FROM json_each(?1, '$.spent'))
  AND day < ?1 ->> 'before'
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


def add(spent: Sequence[tuple[str, int, str, int, int]], today: int) -> list[Statement]:
    """Add what was spent, each as tenant, day, stage, calls, tokens; days of these tenants that are old are deleted.

    Running it twice counts twice.
    """
    rows: list[Json] = [list(each) for each in spent]
    return [
        Statement.write(_ADD, repeatable=False, spent=rows),
        Statement.write(_FORGET, spent=rows, before=today - KEPT_DAYS),
    ]


def totals(day: int, tenant_ids: Sequence[str]) -> Statement:
    """Read what each of these tenants has spent on a day, in all processes: rows for ``read_totals``."""
    return Statement.read(_TOTALS, day=day, tenants=list(tenant_ids))


def read_totals(rows: Sequence[Row]) -> dict[str, tuple[int, int]]:
    """Return calls and tokens by tenant; one that has spent nothing has no row."""
    return {total.tenant_id: (total.calls, total.tokens) for total in read_rows(_Total, rows)}
