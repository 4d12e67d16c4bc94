"""The ``Database`` port on a SQLite file."""

from collections.abc import Mapping, Sequence

import apsw
import orjson

from app.adapters.local.sqlite_connection import SqliteConnection
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import HitsOfFile
from app.ports.database import Row, Statement, WordsDamaged
from app.ports.vector_index import Hits
from app.retrieval.channels.vector import points
from app.storage import damaged_words

_READ_SECONDS = 2.0


class SqliteDatabase:
    """Runs D1's dialect on SQLite, with D1's limits. Implements ``app.ports.database.Database``.

    Concurrent runs that only read share a thread hop and a snapshot; concurrent runs that write share a commit. Tenants
    take turns at both (ADR 0020). Hits that a statement awaits are found in its run, by the index of the same file.
    """

    backend = "sqlite"
    history_days = 0

    def __init__(self, file: SqliteFile, *, read_seconds: float = _READ_SECONDS) -> None:
        """Use a file that the caller opens and closes; ``read_seconds`` is the processor time of a read-only run."""
        self._file = file
        self._read_seconds = read_seconds

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run the statements as one transaction, on a snapshot if none of them writes."""
        try:
            return await self._run(statements)
        except WordsDamaged as damage:
            return await damaged_words.go_on(self._run, statements, damage)

    async def _run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        tenant_id = next((statement.tenant_id for statement in statements), "")

        def work(connection: SqliteConnection) -> list[list[Row]]:
            return [_execute(connection, statement) for statement in statements]

        if any(statement.writes for statement in statements):
            return await self._file.write(work, tenant_id)
        return await self._file.read(work, tenant_id, seconds=self._read_seconds)

    async def ping(self) -> None:
        """Read from the file."""
        await self.run([Statement("SELECT count(*) FROM sqlite_master")])

    async def purge_log(self) -> bool:
        """Write SQLite's log into the file, and cut it off."""
        return await self._file.purge_log()


def _execute(connection: SqliteConnection, statement: Statement) -> list[Row]:
    awaited = statement.awaits
    # The hits come first: a search in steps reads them too.
    if isinstance(awaited, HitsOfFile):
        found = awaited.hits = awaited.search(connection)
        if found is not None:
            statement = _with_hits(statement, awaited, found)
    if statement.stepwise is not None:
        statement = statement.stepwise(statement, lambda sql, values: orjson.loads(connection.execute(sql, values).get))
    cursor = connection.execute(statement.sql, _parameters(statement))
    try:
        names = [column[0] for column in cursor.get_description()]
    except apsw.ExecutionCompleteError:  # there is no row
        return []
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _parameters(statement: Statement) -> tuple[str, ...]:
    """Return a statement's parameters. What is only read with is written faster, in a form that is not stored."""
    if statement.argument is None or statement.writes:
        return statement.parameters
    try:
        return (orjson.dumps(statement.argument).decode(),)
    except TypeError:  # such as a number of more than 64 bits
        return statement.parameters


def _with_hits(statement: Statement, awaited: HitsOfFile, found: Hits) -> Statement:
    """Return a statement whose argument has the hits in the place of the one that stands for them."""
    if not isinstance(statement.argument, Mapping):
        return statement
    awaiting, hits = points(awaited.until_then.hits), points(found.hits)
    argument = {name: hits if value == awaiting else value for name, value in statement.argument.items()}
    return Statement(statement.sql, argument, stepwise=statement.stepwise)
