"""D1's REST endpoints.

https://developers.cloudflare.com/api/resources/d1/subresources/database/
"""

import asyncio
import math
import re
import threading
import uuid as uuids
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory_gateway_double.clock import Clock, timestamp
from memory_gateway_double.d1.database import Database, Result
from memory_gateway_double.d1.statements import MALFORMED, Bound, Parsed, bind, parse
from memory_gateway_double.journal import Journal
from memory_gateway_double.routing import Route
from memory_gateway_double.v4 import ok, page, read_object, refused
from memory_gateway_double.wire import Reply, Request

_STORE = "d1"
_NOT_FOUND = 7404
_NAME_TAKEN = 7502
_PER_PAGE = 10
_EXACT = 2**53
_HUGE = 1e21
_PARSED_KEPT = 512
_REGIONS = frozenset({"wnam", "enam", "weur", "eeur", "apac", "oc"})
_JURISDICTIONS = frozenset({"eu", "fedramp", "us"})
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MALFORMED_BODY = "The request is malformed"


class D1:
    """The account's databases. Safe from any thread."""

    def __init__(self, journal: Journal, directory: Path | None, clock: Clock, *, atomic_batch: bool) -> None:
        """Open what the journal knows; files lie in the directory, else everything is in memory."""
        self.atomic_batch = atomic_batch
        self._journal = journal
        self._directory = directory
        self._clock = clock
        self._lock = threading.RLock()
        self._databases: dict[str, Database] = {}
        self._parse = lru_cache(maxsize=_PARSED_KEPT)(parse)
        self._restore()

    def routes(self, prefix: str) -> Iterator[Route]:
        """Return the endpoints below the account's path."""
        base = f"{prefix}/d1/database"
        yield Route("d1.query", "POST", f"{base}/{{database}}/query", self._query)
        yield Route("d1.raw", "POST", f"{base}/{{database}}/raw", self._raw)
        yield Route("d1.create", "POST", base, self._create)
        yield Route("d1.list", "GET", base, self._list)
        yield Route("d1.get", "GET", f"{base}/{{database}}", self._get)
        yield Route("d1.delete", "DELETE", f"{base}/{{database}}", self._delete)

    def create(self, name: str, image: bytes | None = None, *, jurisdiction: str | None = None) -> str:
        """Create a database, empty or as a copy of an image, and return its id; the name must be free."""
        with self._lock:
            if any(database.name == name for database in self._databases.values()):
                raise refused(400, _NAME_TAKEN, "A database with that name already exists")
            database = self._open(str(uuids.uuid4()), name, timestamp(self._clock.now()), jurisdiction)
            facts: dict[str, object] = {
                "uuid": database.uuid,
                "name": name,
                "created_at": database.created_at,
                "jurisdiction": jurisdiction,
            }
            if image is not None:
                database.load(image)
            self._journal.record(_STORE, "create", facts)
            return database.uuid

    def names(self) -> list[str]:
        """Return the names of the databases."""
        with self._lock:
            return [database.name for database in self._databases.values()]

    def close(self) -> None:
        """Close every database."""
        with self._lock:
            for database in self._databases.values():
                database.close()
            self._databases.clear()

    def _restore(self) -> None:
        events = self._journal.events(_STORE)
        gone = {facts["uuid"] for kind, facts, _ in events if kind == "delete"}
        for kind, facts, _ in events:
            if kind == "create" and facts["uuid"] not in gone:
                jurisdiction = facts.get("jurisdiction")
                self._open(
                    str(facts["uuid"]),
                    str(facts["name"]),
                    str(facts["created_at"]),
                    None if jurisdiction is None else str(jurisdiction),
                )

    def _open(self, uuid: str, name: str, created_at: str, jurisdiction: str | None) -> Database:
        path = None
        if self._directory is not None:
            (self._directory / "d1").mkdir(parents=True, exist_ok=True)
            path = self._directory / "d1" / f"{uuid}.sqlite"
        database = Database(uuid, name, created_at, path, self._clock, jurisdiction)
        self._databases[uuid] = database
        return database

    def _find(self, request: Request) -> Database:
        uuid = request.parameters["database"]
        try:
            uuids.UUID(uuid)
        except ValueError as error:
            raise refused(400, MALFORMED, "Invalid property: databaseId => Invalid uuid") from error
        with self._lock:
            database = self._databases.get(uuid)
        if database is None:
            raise refused(404, _NOT_FOUND, f"The database {uuid} could not be found")
        return database

    async def _create(self, request: Request) -> Reply:
        body = read_object(request, MALFORMED, _MALFORMED_BODY)
        name = body.get("name")
        if not isinstance(name, str):
            raise refused(400, MALFORMED, "Invalid property: name => Required")
        if not _NAME.fullmatch(name):
            raise refused(400, MALFORMED, "Invalid property: name => Invalid")
        if body.get("primary_location_hint") not in {None, *_REGIONS}:
            raise refused(400, MALFORMED, "Invalid property: primary_location_hint => Invalid enum value")
        if body.get("jurisdiction") not in {None, *_JURISDICTIONS}:
            raise refused(400, MALFORMED, "Invalid property: jurisdiction => Invalid enum value")
        database = self._databases[self.create(name, jurisdiction=body.get("jurisdiction"))]
        region = str(body.get("primary_location_hint") or "weur").upper()
        return ok({**_summary(database), "created_in_region": region, "running_in_region": region})

    async def _list(self, request: Request) -> Reply:
        name = request.query.get("name", "")
        with self._lock:
            found = [_summary(database) for database in self._databases.values() if name in database.name]
        return page(request, found, per_page=_PER_PAGE)

    async def _get(self, request: Request) -> Reply:
        """Show a database, by its id or its name: wrangler asks for either."""
        named = [each for each in list(self._databases.values()) if each.name == request.parameters["database"]]
        database = named[0] if named else self._find(request)

        def look() -> dict[str, object]:
            return {**_summary(database), "num_tables": database.tables(), "file_size": database.size()}

        details = await asyncio.get_running_loop().run_in_executor(database.thread, look)
        return ok({**details, "running_in_region": "WEUR", "read_replication": {"mode": "disabled"}})

    async def _delete(self, request: Request) -> Reply:
        database = self._find(request)
        with self._lock:
            self._databases.pop(database.uuid, None)
            self._journal.record(_STORE, "delete", {"uuid": database.uuid})
        await asyncio.to_thread(database.delete)
        return ok(None)

    async def _query(self, request: Request) -> Reply:
        return ok([_entry(result, _objects(result)) for result in await self._run(request)])

    async def _raw(self, request: Request) -> Reply:
        results = await self._run(request)
        return ok([_entry(result, {"columns": result.columns, "rows": _rows(result)}) for result in results])

    async def _run(self, request: Request) -> list[Result]:
        database = self._find(request)
        statements = self._statements(read_object(request, MALFORMED, _MALFORMED_BODY))

        def run() -> list[Result]:
            return database.run(statements, atomic=self.atomic_batch, stop_after=request.stop_batch_after)

        return await asyncio.get_running_loop().run_in_executor(database.thread, run)

    def _statements(self, body: dict[str, Any]) -> list[Bound]:
        batch = body.get("batch")
        if batch is None:
            return self._one(body)
        if not isinstance(batch, list) or not batch or not all(isinstance(query, dict) for query in batch):
            raise refused(400, MALFORMED, "Invalid property: batch => Expected a non-empty array of queries")
        return [statement for query in batch for statement in self._one(query)]

    def _one(self, query: dict[str, Any]) -> list[Bound]:
        sql, params = query.get("sql"), query.get("params")
        if not isinstance(sql, str):
            raise refused(400, MALFORMED, "Invalid property: sql => Required | Invalid property: batch => Required")
        parsed: tuple[Parsed, ...] = self._parse(sql)
        if not parsed:
            raise refused(400, MALFORMED, "The request is malformed: no SQL statement")
        if len(parsed) > 1 and params:
            raise refused(400, MALFORMED, f"{_MALFORMED_BODY}: params with multiple statements is not supported")
        return [bind(statement, [] if params is None else params) for statement in parsed]


def _summary(database: Database) -> dict[str, object]:
    return {
        "uuid": database.uuid,
        "name": database.name,
        "created_at": database.created_at,
        "version": "production",
        "jurisdiction": database.jurisdiction,
    }


def _entry(result: Result, results: object) -> dict[str, object]:
    return {"results": results, "success": True, "meta": result.meta}


def _rows(result: Result) -> list[list[Any]]:
    return [[_json(value) for value in row] for row in result.rows]


def _objects(result: Result) -> list[dict[str, Any]]:
    """Return rows by column name; of columns with one name the last stays."""
    return [dict(zip(result.columns, row, strict=True)) for row in _rows(result)]


def _json(value: Any) -> Any:  # noqa: ANN401 - whatever SQLite holds
    """Write a value as JavaScript would: every number is a double, a BLOB is a list of byte values."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, int):
        return value if -_EXACT <= value <= _EXACT else int(float(value))
    if isinstance(value, bytes):
        return list(value)
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < _HUGE else value
