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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from app.domain.errors import DatabaseRejected, SchemaTooNew, SchemaTooOld
from app.ports.database import Database, Row, Statement

_TABLE = """
CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)
"""


_VERSION_TABLES = Statement.read(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('d1_migrations', 'schema_compatibility')"
)
_NAMES = Statement.read("SELECT name FROM d1_migrations ORDER BY id")
_OLDEST = Statement.read("SELECT name, oldest FROM schema_compatibility")

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


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """The migrations that a database has, in the order they were applied, and which code may run beside each.

    ``oldest`` has a row for each migration from 0037 on: the migration that code has to know to run beside it.
    """

    applied: Sequence[str]
    oldest: Mapping[str, str]

    def unknown(self, known: Sequence[Migration]) -> list[str]:
        """Return the migrations that are not among the known ones."""
        return sorted(set(self.applied) - {migration.name for migration in known})

    def missing(self, known: Sequence[Migration]) -> list[Migration]:
        """Return the known migrations that the database does not have."""
        return [migration for migration in known if migration.name not in self.applied]

    def check(self, known: Sequence[Migration]) -> None:
        """Return if code that knows these migrations may run: it knows all, or may run beside the others.

        Raises:
            SchemaTooNew: it may not.
        """
        names = {migration.name for migration in known}
        unknown = [name for name in self.unknown(known) if self.oldest.get(name) not in names]
        if unknown:
            raise too_new(unknown)


def too_new(unknown: Sequence[str]) -> SchemaTooNew:
    """Return the error of a database with migrations beside which this version cannot run."""
    return SchemaTooNew(
        f"The database has been migrated by a newer version ({', '.join(unknown)} unknown here). "
        "Run that version, or a later one."
    )


async def schema_version(database: Database) -> SchemaVersion:
    """Read the version of the schema.

    Raises:
        DatabaseUnavailable: the database does not answer.
    """
    try:
        names, oldest = await database.run([_NAMES, _OLDEST])
    except DatabaseRejected:
        names, oldest = await _older_version(database)
    return SchemaVersion([str(row["name"]) for row in names], {str(row["name"]): str(row["oldest"]) for row in oldest})


async def _older_version(database: Database) -> tuple[list[Row], list[Row]]:
    """Read the same of a database that has not all tables of it."""
    (rows,) = await database.run([_VERSION_TABLES])
    tables = {str(row["name"]) for row in rows}
    names = (await database.run([_NAMES]))[0] if "d1_migrations" in tables else []
    oldest = (await database.run([_OLDEST]))[0] if "schema_compatibility" in tables else []
    return names, oldest


async def applied_migrations(database: Database) -> Sequence[str]:
    """Return the names of the migrations the database has, in the order they were applied."""
    return (await schema_version(database)).applied


async def check_current(database: Database) -> None:
    """Return if the schema is one that this version can use as it is.

    Raises:
        SchemaTooNew: a newer version has migrated it, and this one cannot run beside that.
        SchemaTooOld: migrations of this version are missing.
        DatabaseUnavailable: the database does not answer.
    """
    version, known = await schema_version(database), known_migrations()
    version.check(known)
    if missing := version.missing(known):
        first, last = missing[0].name, missing[-1].name
        names = first if first == last else f"{first} to {last}"
        raise SchemaTooOld(
            f"The database's schema is older than this version ({names} missing), and this command does not change it. "
            "Run: memory-gateway migrate"
        )


async def prepare_for_command(database: Database) -> list[str]:
    """Check the schema for a command that does not migrate; an empty database gets one. Return the names applied.

    Raises as ``check_current`` and ``migrate`` do.
    """
    if not (await schema_version(database)).applied:
        return await migrate(database)
    await check_current(database)
    return []


async def migrate(database: Database, migrations: Sequence[Migration] | None = None) -> list[str]:
    """Apply what is missing, each migration as one run with its record, and return the names applied.

    Raises:
        SchemaTooNew: the database has a migration beside which this version cannot run; nothing was applied.
        DatabaseUnavailable: the database cannot be read or written.
        DatabaseRejected: a migration does not fit the database, or was half applied before; it was not recorded.
    """
    known = known_migrations() if migrations is None else migrations
    version = await schema_version(database)
    version.check(known)
    missing = version.missing(known)
    if missing and (unknown := version.unknown(known)):  # the two have grown apart
        raise too_new(unknown)
    return [migration.name for migration in missing if await _apply(database, migration)]


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
