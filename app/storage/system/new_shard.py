"""Tells whether a database may become a shard.

A tenant that is placed in a shard owns every row there that bears its name: rows that another deployment, or an earlier
one, has left would be read as the tenant's own. The check crosses tenants; no request imports it.
"""

from collections.abc import Sequence

from app.domain.errors import Conflict
from app.ports.database import Database, Row, Statement
from app.storage.system import directory

_MARKS = ("shards", "embedding_in_use")
"""Tables with rows once a service has started on the database; the first has rows only where there are more shards."""
_READ_MARKS = Statement.read(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (SELECT value FROM json_each(?1, '$.names'))",
    names=list(_MARKS),
)


async def check_unused(database: Database, what: str) -> None:
    """Return if the database holds nothing: it is empty, or was migrated and never used. Nothing is changed.

    ``what`` names the database in the error, at the beginning of a sentence.

    Raises:
        Conflict: the database holds rows of a tenant, has shards of its own, or a service has started on it.
        Unavailable: the database does not answer.
    """
    of_tenants, marks = await database.run([directory.READ_TABLES, _READ_MARKS])
    if found := await _first_used(database, of_tenants):
        raise Conflict(
            f"{what} holds rows of tenants already (in the table {found}). A new shard begins empty, or its tenants "
            "would read what is there as theirs. Use another name or database, or delete this one if nobody needs it."
        )
    if await _first_used(database, marks):
        raise Conflict(
            f"{what} belongs to a service already, which has started on it. A new shard begins empty. "
            "Use another name or database, or delete this one if nobody needs it."
        )


async def _first_used(database: Database, tables: Sequence[Row]) -> str | None:
    """Return the first of these tables that has a row."""
    names = [str(row["name"]) for row in tables]
    if not names:
        return None
    quoted = [name.replace('"', '""') for name in names]  # a table of another program may have any name
    looks = " ".join(f'WHEN EXISTS (SELECT 1 FROM "{name}") THEN {at}' for at, name in enumerate(quoted))
    ((row,),) = await database.run([Statement.read(f"SELECT CASE {looks} END AS used")])
    return None if row["used"] is None else names[int(row["used"])]
