"""Cloudflare's own D1 engine: workerd, run by miniflare, behind the REST query endpoint of ``node/d1-worker.js``."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import httpx

from app.ports.database import Row, Statement
from app.storage.migrations.runner import migrate
from tests.conformance.workerd import START_SECONDS, running_program

_DATABASES = 500


@dataclass(frozen=True, slots=True)
class EngineDatabase:
    """A database of an engine."""

    url: str
    id: str


@dataclass(frozen=True, slots=True)
class D1Engine:
    """Empty databases, as many as are asked for. The databases of a running engine are given; others need another."""

    start: Callable[[], list[EngineDatabase]]
    migrations: bytes
    _unused: list[EngineDatabase] = field(default_factory=list)

    def empty_database(self) -> EngineDatabase:
        """Return a database no other test has."""
        if not self._unused:
            self._unused.extend(self.start())
        return self._unused.pop()

    def migrated_database(self) -> EngineDatabase:
        """Return a database no other test has, at the newest schema.

        Its migrations are sent in one request: a request for each takes longer than most tests.
        """
        database = self.empty_database()
        url = f"{database.url}/client/v4/accounts/{'0' * 32}/d1/database/{database.id}/query"
        httpx.post(url, content=self.migrations, timeout=START_SECONDS, trust_env=False).raise_for_status()
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
    """Return the request that sends all that ``migrate`` sends to an empty database."""
    recorder = _Recorder()
    asyncio.run(migrate(recorder))
    batch = [{"sql": each.sql, "params": each.parameters} for each in recorder.statements if each.writes]
    return json.dumps({"batch": batch}).encode()


@contextmanager
def running_engine(temporary: Path) -> Iterator[D1Engine]:
    """Start engines when their databases are wanted, and stop them in the end."""
    with ExitStack() as running:
        yield D1Engine(lambda: running.enter_context(_process(mkdtemp(dir=temporary))), _migrations())


@contextmanager
def _process(temporary: str) -> Iterator[list[EngineDatabase]]:
    """Run an engine, and give its databases."""
    with running_program("d1-engine.js", str(_DATABASES), Path(temporary)) as started:
        yield [EngineDatabase(started["url"], each) for each in started["databases"]]
