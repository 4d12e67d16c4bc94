"""Watches the version of the schema while the process runs: a newer version may migrate the database beside it."""

import asyncio
from collections.abc import Callable, Sequence

from app.domain.errors import DatabaseRejected, SchemaTooNew, Unavailable
from app.ports.database import Database
from app.storage.migrations.runner import Migration, schema_version, too_new

_LOOK_AGAIN_SECONDS = 1.0
"""How long a version that was read explains the statements that are refused."""


class SchemaWatch:
    """Keeps the schema's version as this process last read it.

    ``lose`` is called when this version of the service can no longer run on the schema.
    """

    def __init__(
        self, database: Database, lose: Callable[[SchemaTooNew], None], migrations: Sequence[Migration]
    ) -> None:
        """Take the database, ``lose``, and the migrations that this version of the service knows."""
        self._database = database
        self._migrations = migrations
        self._lose = lose
        self._reading = asyncio.Lock()
        self._read_at = float("-inf")
        self._unknown: Sequence[str] = ()

    async def look(self) -> None:
        """Read the schema's version; call ``lose`` where this process cannot run on it.

        Raises:
            Unavailable: the database does not answer.
        """
        try:
            (await schema_version(self._database)).check(self._migrations)
        except SchemaTooNew as error:
            self._lose(error)

    async def why(self, refusal: DatabaseRejected) -> DatabaseRejected | SchemaTooNew:
        """Return why the database refused a statement: it has migrations that are unknown here, or the refusal itself.

        Unknown migrations are the reason even where they declare that this version can run: a statement that they break
        shows that it cannot.
        """
        async with self._reading:  # of many statements that are refused at once, only the first reads the version
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
