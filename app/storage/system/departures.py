"""Says of which tenants a database takes no more of what processes write behind: notes of recalls, and costs of models.

Those live elsewhere. While a move keeps the rows of a tenant that has gone, notes are taken, and carried. What came
later would stay for ever, because no erasure looks for it here. What came while a tenant arrives would differ from the
source.
"""

from collections.abc import Collection, Sequence

from app.ports.database import NOW, Row, Statement

_DEPARTED = f"placed.state = 'arriving' OR (placed.state = 'gone' AND placed.fenced_until > {NOW})"
_READ = f"""
SELECT placed.tenant_id FROM json_each(?1, '$.tenants') AS named
JOIN tenant_epochs AS placed ON placed.tenant_id = named.value
WHERE {_DEPARTED}
"""


def stays(tenant_id: str) -> str:
    """Return the condition, in SQL, under which what is written behind is taken of a tenant."""
    return f"NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = {tenant_id} AND ({_DEPARTED}))"


def read(tenant_ids: Collection[str]) -> Statement:
    """Read of which of these tenants nothing is taken: rows for ``read_departed``."""
    return Statement.read(_READ, tenants=sorted(tenant_ids))


def read_departed(rows: Sequence[Row]) -> set[str]:
    """Return the tenants."""
    return {str(row["tenant_id"]) for row in rows}
