"""Brings the schema of a database up to date: a fresh one by ``schema.sql`` alone, others by the migrations they lack.

Migrations are numbered SQL files. Those up to 0052, from before ``schema.sql``, are in the folder ``before`` and never
change; those that follow lie beside this file. The bookkeeping is wrangler's own: ``wrangler d1 migrations apply``
keeps the same table (https://developers.cloudflare.com/d1/reference/migrations/). A fresh database has the record of
each migration that ``schema.sql`` stands for, so that any code which knows these finds what it knows
(docs/decisions/0074-the-schema-said-once.md).

A migration and its record are one run of the database, and so is each part of ``schema.sql``, which has more statements
than D1 takes in a run. SQLite makes a run whole or not at all. Cloudflare does not document that a REST batch on D1 is
atomic (docs/decisions/0005-cloudflare-over-rest.md): should one stop half way, the migration is half applied and not
recorded. Nothing here repairs that: every later attempt is refused by the first statement that was already done
(``DatabaseRejected``), so that no service starts on what is half there. The error says what helps.
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


SCHEMA = "schema.sql"
"""What a fresh database is made by, as a migration is named."""

_MAX_STATEMENTS = 97
"""Of a part of the schema: D1 takes 100 in a run, of which up to three keep the records."""
_FORGET_PARTS = f"DELETE FROM d1_migrations WHERE name GLOB '{SCHEMA} of *'"
_RECORD = "INSERT INTO d1_migrations (name) SELECT value FROM json_each(?1)"

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
    """One file: its name, which orders it, and its statements.

    ``stands_for`` are the migrations that are recorded when it was applied; empty: itself.
    """

    name: str
    statements: tuple[str, ...]
    stands_for: tuple[str, ...] = ()

    @property
    def records(self) -> tuple[str, ...]:
        """The names that are recorded when it was applied."""
        return self.stands_for or (self.name,)


@cache
def known_migrations() -> tuple[Migration, ...]:
    """Return the migrations of this version, in order."""
    here = files(__package__)
    sources = [file for folder in (here / "before", here) for file in folder.iterdir() if file.name.endswith(".sql")]
    return tuple(
        Migration(source.name, tuple(split(source.read_text(encoding="utf-8"))))
        for source in sorted(sources, key=lambda file: file.name)
    )


@cache
def schema_parts() -> tuple[Migration, ...]:
    """Return ``schema.sql`` in parts, one for each run that makes it. The last one stands for all known migrations.

    The record of a part names the newest of these: no other version goes on with what this one has begun.
    """
    text = (files(__package__.rpartition(".")[0]) / SCHEMA).read_text(encoding="utf-8")
    statements, names = tuple(split(text)), tuple(migration.name for migration in known_migrations())
    runs = [statements[at : at + _MAX_STATEMENTS] for at in range(0, len(statements), _MAX_STATEMENTS)]
    titles = [f"{SCHEMA} of {names[-1]}, {number} of {len(runs)}" for number in range(1, len(runs) + 1)]
    *firsts, last = map(Migration, titles, runs)
    return *firsts, Migration(last.name, (*last.statements, _FORGET_PARTS), names)


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
    ``parts`` are those of the schema that a fresh database has so far; one that is ready has none.
    """

    applied: Sequence[str]
    oldest: Mapping[str, str]
    parts: Sequence[str] = ()

    def unknown(self, known: Sequence[Migration]) -> list[str]:
        """Return the migrations that are not among the known ones."""
        return sorted(set(self.applied) - {migration.name for migration in known})

    def missing(self, known: Sequence[Migration]) -> list[Migration]:
        """Return the known migrations that the database does not have."""
        return [migration for migration in known if migration.name not in self.applied]

    def to_apply(self, known: Sequence[Migration]) -> list[str]:
        """Return the names of what ``migrate`` applies with these migrations."""
        names = [migration.name for migration in self.missing(known)]
        made = schema_parts()[-1].stands_for
        if self.applied or not set(made) <= set(names):
            return names
        return [SCHEMA, *(name for name in names if name not in made)]

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
    recorded, parts = [str(row["name"]) for row in names], {part.name for part in schema_parts()}
    return SchemaVersion(
        [name for name in recorded if name not in parts],
        {str(row["name"]): str(row["oldest"]) for row in oldest},
        [name for name in recorded if name in parts],
    )


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

    A database that has nothing yet gets ``schema.sql`` in the place of all migrations that it stands for, if these are
    among the given ones.

    Raises:
        SchemaTooNew: the database has a migration beside which this version cannot run; nothing was applied.
        DatabaseUnavailable: the database cannot be read or written.
        DatabaseRejected: a migration does not fit the database, or was half applied before; it was not recorded.
    """
    known = known_migrations() if migrations is None else migrations
    version = await schema_version(database)
    version.check(known)
    missing, names = version.missing(known), version.to_apply(known)
    if missing and (unknown := version.unknown(known)):  # the two have grown apart
        raise too_new(unknown)
    if SCHEMA in names and not await _make(database, version):
        return await migrate(database, known)
    ours = [migration.name for migration in missing if migration.name in names and await _apply(database, migration)]
    return [SCHEMA, *ours] if SCHEMA in names else ours


async def _make(database: Database, version: SchemaVersion) -> bool:
    """Apply the parts of the schema that are missing. Return False where another process has applied something."""
    for part in schema_parts():
        if part.name not in version.parts and not await _apply(database, part):
            return False
    return True


async def _apply(database: Database, migration: Migration) -> bool:
    """Apply one migration with its records. Return whether it was us and not another process."""
    body = [Statement(sql, writes=True) for sql in (_TABLE, *migration.statements)]
    try:
        await database.run([*body, Statement(_RECORD, migration.records, writes=True)])
    except DatabaseRejected as error:
        version = await schema_version(database)
        overtaken = migration in schema_parts() and version.applied
        if overtaken or not {*version.applied, *version.parts}.isdisjoint(migration.records):
            return False
        raise DatabaseRejected(
            f"The migration {migration.name} does not fit the database, which may have a part of it already "
            f"({error.detail.rstrip('.')}). {_WHAT_HELPS}"
        ) from error
    return True
