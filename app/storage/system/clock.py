"""Reads the database's clock."""

from app.ports.database import NOW, Database, Statement

_READ = Statement.read(f"SELECT {NOW} AS now")


async def database_time(database: Database) -> int:
    """Return the database's time, in milliseconds since the epoch.

    Raises:
        Unavailable: the database does not answer.
    """
    ((row,),) = await database.run([_READ])
    return int(row["now"] or 0)
