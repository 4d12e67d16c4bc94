"""The rule by which a database takes no late rows of tenants that live elsewhere: notes of recalls, costs of models.

Processes write these rows some time after the request. While a move keeps the rows of a tenant that has gone, notes are
taken, and carried. A row that came later would stay for ever, because no erasure looks for it here. A row that came
while a tenant arrives would differ from the source.
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
    """Return the condition, in SQL, under which late rows of a tenant are taken."""
    return f"NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = {tenant_id} AND ({_DEPARTED}))"


def read(tenant_ids: Collection[str]) -> Statement:
    """Read those of the tenants whose late rows are not taken: rows for ``read_departed``."""
    return Statement.read(_READ, tenants=sorted(tenant_ids))


def read_departed(rows: Sequence[Row]) -> set[str]:
    """Return the tenants of the rows of ``read``."""
    return {str(row["tenant_id"]) for row in rows}
