"""The cost of a tenant's calls of models: the database has a row for each day (UTC) and stage."""

from dataclasses import dataclass

from app.domain.memory import Tenant
from app.ports.database import Row
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement

_READ = """
SELECT coalesce(sum(spend.calls), 0) AS calls, coalesce(sum(spend.tokens), 0) AS tokens FROM model_spend AS spend
WHERE spend.tenant_id = ?1 ->> 'tenant_id' AND spend.day = ?1 ->> 'day'
"""


@dataclass(frozen=True, slots=True)
class Spending:
    """Calls of models and their tokens."""

    calls: int
    tokens: int


def read(tenant_id: str, day: int) -> ScopedStatement:
    """Read a tenant's calls and tokens of a day, in days since the epoch: one row, for ``spending``."""
    return ScopedStatement.read(Tenant(tenant_id), _READ, day=day)


def spending(row: Row) -> Spending:
    """Read the row."""
    return read_row(Spending, row)
