"""Applies the numbered SQL files of this package to a database, in wrangler's own bookkeeping.

``wrangler d1 migrations apply`` reads the same files and keeps the same table, so either tool may be
used, in any order (https://developers.cloudflare.com/d1/reference/migrations/).

A migration and its record are one run of the database. SQLite makes it whole or not at all. Cloudflare does not
document that a REST batch on D1 is atomic (docs/decisions/0005-cloudflare-over-rest.md): should one stop half way,
the migration is half applied and not recorded. Nothing here repairs that: every later attempt is refused by the
first statement that was already done (``DatabaseRejected``), so that no service starts on what is half there. The
error says what helps.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from app.domain.errors import DatabaseRejected, SchemaTooNew
from app.ports.database import Database, Statement

_TABLE = """
CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)
"""


_WHAT_HELPS = (
    "Migrating again does not help. Stop the service and set the database back to before this migration: on Cloudflare "
    "with D1's Time Travel, embedded with a copy of DATA_DIR. A database without memories may be deleted instead. Then "
    "run: memory-gateway migrate"
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: its name, which orders it, and its statements."""

    name: str
    statements: tuple[str, ...]


@cache
def known_migrations() -> tuple[Migration, ...]:
    """Return the migrations of this version, in order."""
    sources = sorted(
        (file for file in files(__package__).iterdir() if file.name.endswith(".sql")), key=lambda f: f.name
    )
    return tuple(Migration(source.name, tuple(split(source.read_text(encoding="utf-8")))) for source in sources)


def split(script: str) -> Iterator[str]:
    """Split a script into its statements; a trigger's body stays whole."""
    start = 0
    for position, character in enumerate(script):
        if character == ";" and sqlite3.complete_statement(script[start : position + 1]):
            yield script[start:position].strip()
            start = position + 1


async def applied_migrations(database: Database) -> list[str]:
    """Return the names of the migrations the database has, in the order they were applied."""
    (tables,) = await database.run([Statement("SELECT name FROM sqlite_master WHERE name = 'd1_migrations'")])
    if not tables:
        return []
    (rows,) = await database.run([Statement("SELECT name FROM d1_migrations ORDER BY id")])
    return [str(row["name"]) for row in rows]


async def migrate(database: Database, migrations: Sequence[Migration] | None = None) -> list[str]:
    """Apply what is missing, each migration as one run with its record, and return the names applied.

    Raises:
        SchemaTooNew: the database has a migration that this version does not know; nothing was applied.
        DatabaseUnavailable: the database cannot be read or written.
        DatabaseRejected: a migration does not fit the database, or was half applied before; it was not recorded.
    """
    known = known_migrations() if migrations is None else migrations
    present = await applied_migrations(database)
    unknown = sorted(set(present) - {migration.name for migration in known})
    if unknown:
        raise SchemaTooNew(
            f"The database has been migrated by a newer version ({', '.join(unknown)} unknown here). "
            "Run that version, or a later one."
        )
    return [
        migration.name for migration in known if migration.name not in present and await _apply(database, migration)
    ]


async def _apply(database: Database, migration: Migration) -> bool:
    """Apply one migration with its record. Return whether it was us and not another process."""
    record = Statement("INSERT INTO d1_migrations (name) VALUES (?1 ->> 0)", [migration.name], writes=True)
    body = [Statement(sql, writes=True) for sql in (_TABLE, *migration.statements)]
    try:
        await database.run([*body, record])
    except DatabaseRejected as error:
        if migration.name in await applied_migrations(database):
            return False
        raise DatabaseRejected(
            f"The migration {migration.name} does not fit the database, which may have a part of it already "
            f"({error.detail.rstrip('.')}). {_WHAT_HELPS}"
        ) from error
    return True
