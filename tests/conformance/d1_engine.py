"""Cloudflare's own D1 engine: workerd, run by miniflare, behind the REST query endpoint of ``node/d1-worker.js``."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp

import apsw
import httpx

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.ports.database import Row, Statement
from app.storage.migrations.runner import migrate
from tests.conformance.workerd import START_SECONDS, running_program
from tests.support.clock import Clock

_DATABASES = 500
_KIND = "miniflare-D1DatabaseObject"
_NOW = "julianday('now')"
_DAY_MS = 86_400_000
_CLOCK = (
    "CREATE TABLE IF NOT EXISTS test_clock (days REAL NOT NULL) STRICT",
    "INSERT INTO test_clock SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM test_clock)",
)


@dataclass(frozen=True, slots=True)
class EngineDatabase:
    """A database of an engine, and the file in which workerd keeps it from its first use."""

    url: str
    id: str
    file: Path


@dataclass(frozen=True, slots=True)
class D1Engine:
    """Empty databases, as many as are asked for. The databases of a running engine are given; others need another."""

    start: Callable[[], list[EngineDatabase]]
    migrations: bytes
    _unused: list[EngineDatabase] = field(default_factory=list)
    _migrated: list[bytes] = field(default_factory=list)
    """The file of the first migrated database, once there is one."""

    def empty_database(self) -> EngineDatabase:
        """Return a database no other test has."""
        if not self._unused:
            self._unused.extend(self.start())
        return self._unused.pop()

    def migrated_database(self) -> EngineDatabase:
        """Return a database no other test has, at the newest schema.

        The engine migrates the first, by one request. The others are copies of its file, made before the engine opens
        them: to migrate each takes longer than most tests.
        """
        database = self.empty_database()
        if self._migrated:
            database.file.write_bytes(self._migrated[0])
            return database
        url = f"{database.url}/client/v4/accounts/{'0' * 32}/d1/database/{database.id}/query"
        answer = httpx.post(url, content=self.migrations, timeout=START_SECONDS, trust_env=False, verify=False)
        answer.raise_for_status()
        with closing(apsw.Connection(str(database.file), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            self._migrated.append(connection.serialize("main"))
        return database


class _Recorder:
    """A database without tables, which keeps what it is sent. Implements ``app.ports.database.Database``."""

    backend = "recorder"
    history_days = 0

    def __init__(self) -> None:
        self.statements: list[Statement] = []

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.statements.extend(statements)
        return [[] for _ in statements]

    async def ping(self) -> None:
        return

    async def purge_log(self) -> bool:
        return True


def _migrations() -> bytes:
    """Return the request that sends all that ``migrate`` sends to an empty database; triggers get a test's clock."""
    recorder = _Recorder()
    asyncio.run(migrate(recorder))
    writes = [(each.sql, each.parameters) for each in recorder.statements if each.writes]
    made = [(_of_test_clock(sql) if "CREATE TRIGGER" in sql else sql, parameters) for sql, parameters in writes]
    batch = [{"sql": sql, "params": parameters} for sql, parameters in [*((sql, []) for sql in _CLOCK), *made]]
    return json.dumps({"batch": batch}).encode()


def _of_test_clock(sql: str) -> str:
    return sql.replace(_NOW, f"({_NOW} + (SELECT days FROM test_clock))")


class ClockedDatabase(D1Database):
    """A database of the engine that follows the clock of a test: workerd's own cannot be moved.

    Its statements get the moved time as they are sent, and its triggers read it from a table.
    """

    def __init__(self, client: CloudflareClient, database_id: str, clock: Clock) -> None:
        super().__init__(client, database_id)
        self._clock = clock
        self._written = 0

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run the statements at the test's time."""
        ahead = self._clock.ahead_ms
        if not ahead:
            return await super().run(statements)
        days = (ahead + 0.5) / _DAY_MS
        if ahead != self._written:
            await super().run([Statement(sql, writes=True) for sql in _CLOCK])
            await super().run([Statement.write("UPDATE test_clock SET days = ?1 ->> 'days'", days=days)])
            self._written = ahead
        moved = f"({_NOW} + {days!r})"
        return await super().run([replace(each, sql=each.sql.replace(_NOW, moved)) for each in statements])


@contextmanager
def running_engine(temporary: Path) -> Iterator[D1Engine]:
    """Start engines when their databases are wanted, and stop them in the end."""
    with ExitStack() as running:
        yield D1Engine(lambda: running.enter_context(_process(mkdtemp(dir=temporary))), _migrations())


@contextmanager
def _process(temporary: str) -> Iterator[list[EngineDatabase]]:
    """Run an engine, and give its databases."""
    folder = Path(temporary) / "kept"
    with running_program("d1-engine.js", str(_DATABASES), str(folder), temporary=Path(temporary)) as started:
        yield [
            EngineDatabase(started["url"], each, folder / "d1" / _KIND / _file(each)) for each in started["databases"]
        ]


def _file(name: str) -> str:
    """Return the name of the file of a database: miniflare makes it of the database's id, as workerd names objects."""
    key = hashlib.sha256(_KIND.encode()).digest()

    def keyed(data: bytes) -> bytes:
        return hmac.digest(key, data, "sha256")[:16]

    hashed = keyed(name.encode())
    return f"{(hashed + keyed(hashed)).hex()}.sqlite"
