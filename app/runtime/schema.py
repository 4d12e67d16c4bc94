"""Watches the version of the schema while the process runs: a newer version may migrate the database beside it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.errors import DatabaseRejected, SchemaTooNew, Unavailable
from app.ports.database import Database, Row, RunRefused, Statement
from app.storage.migrations.runner import Migration, schema_version, too_new

_LOOK_AGAIN_SECONDS = 1.0
"""For so long a version that was read explains the statements that are refused."""


class SchemaWatch:
    """What this process knows of the schema's version.

    ``lose`` is told when this version can no longer run on it.
    """

    def __init__(
        self, database: Database, lose: Callable[[SchemaTooNew], None], migrations: Sequence[Migration]
    ) -> None:
        """Take the database, what is told, and the migrations that this version knows."""
        self._database = database
        self._migrations = migrations
        self._lose = lose
        self._reading = asyncio.Lock()
        self._read_at = float("-inf")
        self._unknown: Sequence[str] = ()

    def watch(self, database: Database) -> Database:
        """Return the database with a ``SchemaTooNew`` where it refuses a statement because of a newer version."""
        return _Watched(database, self)

    async def look(self) -> None:
        """Read the version; tell ``lose`` where this process cannot run beside it.

        Raises:
            Unavailable: the database does not answer.
        """
        try:
            (await schema_version(self._database)).check(self._migrations)
        except SchemaTooNew as error:
            self._lose(error)

    async def why(self, refusal: DatabaseRejected) -> DatabaseRejected | SchemaTooNew:
        """Return why the database refused a statement: migrations that are not known here, where it has any.

        Also where they were said to let this version run: a statement that they break says that they do not.
        """
        async with self._reading:  # of many statements that are refused at once the first one reads
            now = asyncio.get_running_loop().time()
            if now >= self._read_at + _LOOK_AGAIN_SECONDS:
                try:
                    self._unknown = (await schema_version(self._database)).unknown(self._migrations)
                except Unavailable:
                    return refusal
                self._read_at = now
        if not self._unknown:
            return refusal
        error = too_new(self._unknown)
        self._lose(error)
        return error


@dataclass(frozen=True, slots=True)
class _Watched:
    """A database whose refusals are explained."""

    inner: Database
    schema: SchemaWatch

    @property
    def backend(self) -> str:
        """The name of the database."""
        return self.inner.backend

    @property
    def history_days(self) -> int:
        """See ``Database.history_days``."""
        return self.inner.history_days

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run the statements; see ``Database.run``.

        Raises:
            SchemaTooNew: a statement was refused, and a newer version has migrated the database.
        """
        try:
            return await self.inner.run(statements)
        except RunRefused:
            raise
        except DatabaseRejected as refusal:
            raise await self.schema.why(refusal) from refusal

    async def purge_log(self) -> bool:
        """See ``Database.purge_log``."""
        return await self.inner.purge_log()

    async def ping(self) -> None:
        """Return if the database answers."""
        await self.inner.ping()
