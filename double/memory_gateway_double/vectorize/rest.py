"""Vectorize's REST endpoints, v2.

https://developers.cloudflare.com/api/resources/vectorize/subresources/indexes/
"""

import asyncio
import re
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from memory_gateway_double.clock import Clock, timestamp
from memory_gateway_double.journal import Journal
from memory_gateway_double.routing import Route
from memory_gateway_double.v4 import NOT_JSON, ok, read_object, refused
from memory_gateway_double.vectorize.filters import KINDS
from memory_gateway_double.vectorize.index import Declare, Delays, Delete, Description, Index, Write
from memory_gateway_double.vectorize.queries import answer, described, read_query
from memory_gateway_double.vectorize.records import body_of, read_vectors
from memory_gateway_double.wire import JSON, Reply, Request

INDEX_NOT_FOUND = 3000
INDEX_INVALID = 3001
"""Not documented; guessed."""
NAME_TAKEN = 3002
INDEX_DELETED = 3005
TOO_MANY_IDS = 40007

_STORE = "vectorize"
_NAME = re.compile(r"[a-z]+[a-z0-9_-]*[a-z0-9]+")
_NAME_BYTES = 64
_DIMENSIONS = range(32, 1537)
_METRICS = ("cosine", "euclidean", "dot-product")
_PRESETS: Mapping[str, tuple[int, str]] = {
    "@cf/baai/bge-small-en-v1.5": (384, "cosine"),
    "@cf/baai/bge-base-en-v1.5": (768, "cosine"),
    "@cf/baai/bge-large-en-v1.5": (1024, "cosine"),
    "openai/text-embedding-ada-002": (1536, "cosine"),
    "cohere/embed-multilingual-v2.0": (768, "dot-product"),
}
_GET_IDS, _DELETE_IDS = 20, 100
_LIST_COUNT, _MAX_LIST = 100, 1000
_INLINE_BYTES = 100_000
"""Bodies read in a few milliseconds; larger ones are read in a thread, so that other calls go on."""


class Vectorize:
    """The account's indexes. Safe from any thread."""

    def __init__(self, journal: Journal, clock: Clock, delays: Delays, seed: int, *, approximate: bool) -> None:
        """Make what the journal knows, all of it showing at once."""
        self._journal = journal
        self._clock = clock
        self._delays = delays
        self._seed = seed
        self._approximate = approximate
        self._lock = threading.RLock()
        self._indexes: dict[str, Index] = {}
        self._deleted: set[str] = set()
        self._restore()

    def routes(self, prefix: str) -> Iterator[Route]:
        """Return the endpoints below the account's path."""
        base = f"{prefix}/vectorize/v2/indexes"
        one = f"{base}/{{index}}"
        yield Route("vectorize.query", "POST", f"{one}/query", self._query)
        yield Route("vectorize.upsert", "POST", f"{one}/upsert", self._upsert)
        yield Route("vectorize.insert", "POST", f"{one}/insert", self._insert)
        yield Route("vectorize.get_by_ids", "POST", f"{one}/get_by_ids", self._get_by_ids)
        yield Route("vectorize.delete_by_ids", "POST", f"{one}/delete_by_ids", self._delete_by_ids)
        yield Route("vectorize.info", "GET", f"{one}/info", self._info)
        yield Route("vectorize.list", "GET", f"{one}/list", self._list)
        yield Route("vectorize.metadata_index.create", "POST", f"{one}/metadata_index/create", self._declare)
        yield Route("vectorize.metadata_index.list", "GET", f"{one}/metadata_index/list", self._declared)
        yield Route("vectorize.metadata_index.delete", "POST", f"{one}/metadata_index/delete", self._undeclare)
        yield Route("vectorize.create", "POST", base, self._create)
        yield Route("vectorize.list_indexes", "GET", base, self._list_indexes)
        yield Route("vectorize.get", "GET", one, self._get)
        yield Route("vectorize.delete", "DELETE", one, self._delete)

    def create(self, name: str, dimensions: int, metric: str = "cosine", description: str = "") -> Index:
        """Create an index; the name must be free."""
        with self._lock:
            if name in self._indexes:
                raise refused(400, NAME_TAKEN, f'vectorize.index.duplicate_name - Index name "{name}"')
            created_on = timestamp(self._clock.now())
            facts: dict[str, object] = {
                "name": name,
                "description": description,
                "dimensions": dimensions,
                "metric": metric,
                "created_on": created_on,
            }
            self._journal.record(_STORE, "create", facts)
            return self._open(Description(name, description, dimensions, metric, created_on))

    def declare(self, index: Index, key: str, kind: str | None) -> str:
        """Ask for a metadata index, or with no kind for its end; return the mutation's id."""
        with self._lock:
            mutation = index.write(Declare(key, kind))
            facts: dict[str, object] = {"name": index.description.name, "key": key, "kind": kind}
            self._journal.record(_STORE, "declare", facts)
            return mutation

    def settle(self) -> None:
        """Make every acknowledged write show now."""
        for index in list(self._indexes.values()):
            index.settle()

    def pending(self) -> dict[str, int]:
        """Return how many writes of each index do not show yet."""
        return {name: index.pending() for name, index in list(self._indexes.items())}

    def metadata_indexes(self, name: str) -> dict[str, str]:
        """Return the metadata indexes that an index lists, each with its type."""
        return dict(self._indexes[name].declared())

    def _open(self, description: Description) -> Index:
        index = Index(description, self._clock, self._delays, self._seed, approximate=self._approximate)
        self._indexes[description.name] = index
        self._deleted.discard(description.name)
        return index

    def _restore(self) -> None:
        for kind, facts, content in self._journal.events(_STORE):
            name = str(facts["name"])
            if kind == "create":
                self._open(Description(**facts))  # type: ignore[arg-type]
            elif kind == "drop":
                self._forget(name)
            elif kind == "declare":
                key, type_ = str(facts["key"]), facts["kind"]
                self._indexes[name].write(Declare(key, None if type_ is None else str(type_)))
            elif kind == "delete":
                self._indexes[name].write(Delete([str(id_) for id_ in _listed(facts["ids"])]))
            else:
                dimensions = self._indexes[name].description.dimensions
                vectors = read_vectors(content, dimensions, operation=kind, discard=True)
                self._indexes[name].write(Write(vectors, replace=kind == "upsert"))
            if name in self._indexes:
                self._indexes[name].settle()

    def _forget(self, name: str) -> None:
        del self._indexes[name]
        self._deleted.add(name)

    def _find(self, request: Request) -> Index:
        name = request.parameters["index"]
        index = self._indexes.get(name)
        if index is not None:
            return index
        if name in self._deleted:
            raise refused(410, INDEX_DELETED, f'vectorize.index.deleted - Index name "{name}" was deleted')
        raise refused(404, INDEX_NOT_FOUND, f'vectorize.index.not_found - Index name "{name}"')

    async def _create(self, request: Request) -> Reply:
        body = _json(request)
        name, config, description = body.get("name"), body.get("config"), body.get("description") or ""
        if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name.encode()) > _NAME_BYTES:
            raise _invalid("the name must match ^([a-z]+[a-z0-9_-]*[a-z0-9]+)$ and have at most 64 bytes")
        if not isinstance(config, dict) or not isinstance(description, str):
            raise _invalid("config must be an object, description a string")
        dimensions, metric = _PRESETS.get(str(config.get("preset")), (config.get("dimensions"), config.get("metric")))
        if type(dimensions) is not int or dimensions not in _DIMENSIONS:
            raise _invalid(f"dimensions must be from {_DIMENSIONS.start} to {_DIMENSIONS.stop - 1}")
        if not isinstance(metric, str) or metric not in _METRICS:
            raise _invalid(f"metric must be one of {', '.join(_METRICS)}")
        return ok(self.create(name, dimensions, metric, description).description.as_json(), status=201)

    async def _list_indexes(self, _: Request) -> Reply:
        return ok([index.description.as_json() for index in list(self._indexes.values())])

    async def _get(self, request: Request) -> Reply:
        return ok(self._find(request).description.as_json())

    async def _delete(self, request: Request) -> Reply:
        index = self._find(request)
        with self._lock:
            self._forget(index.description.name)
            self._journal.record(_STORE, "drop", {"name": index.description.name})
        return ok(None)

    async def _info(self, request: Request) -> Reply:
        return ok(self._find(request).info())

    async def _query(self, request: Request) -> Reply:
        index = self._find(request)
        query = read_query(_json(request), index.description.dimensions)
        return ok(answer(index, query))

    async def _upsert(self, request: Request) -> Reply:
        return await self._write(request, "upsert")

    async def _insert(self, request: Request) -> Reply:
        return await self._write(request, "insert")

    async def _write(self, request: Request, kind: str) -> Reply:
        index = self._find(request)

        def write() -> str:
            body = body_of(request)
            discard = request.query.get("unparsable-behavior") == "discard"
            vectors = read_vectors(body, index.description.dimensions, operation=kind, discard=discard)
            with self._lock:
                self._journal.record(_STORE, kind, {"name": index.description.name}, body)
                return index.write(Write(vectors, replace=kind == "upsert"))

        mutation = write() if len(request.body) <= _INLINE_BYTES else await asyncio.to_thread(write)
        return ok({"mutationId": mutation})

    async def _get_by_ids(self, request: Request) -> Reply:
        index = self._find(request)
        return ok([described(stored, values) for stored, values in index.get(_ids(request, _GET_IDS))])

    async def _delete_by_ids(self, request: Request) -> Reply:
        index = self._find(request)
        ids = _ids(request, _DELETE_IDS)
        with self._lock:
            self._journal.record(_STORE, "delete", {"name": index.description.name, "ids": ids})
            return ok({"mutationId": index.write(Delete(ids))})

    async def _list(self, request: Request) -> Reply:
        index = self._find(request)
        count = request.query.get("count", str(_LIST_COUNT))
        if not count.isdecimal() or not 1 <= int(count) <= _MAX_LIST:
            raise refused(400, NOT_JSON, f"count must be from 1 to {_MAX_LIST}")
        page = index.page(int(count), request.query.get("cursor"))
        return ok(
            {
                "count": len(page.ids),
                "totalCount": page.total,
                "isTruncated": page.next_cursor is not None,
                "nextCursor": page.next_cursor,
                "cursorExpirationTimestamp": page.expires,
                "vectors": [{"id": id_} for id_ in page.ids],
            }
        )

    async def _declare(self, request: Request) -> Reply:
        index = self._find(request)
        body = _json(request)
        key, kind = body.get("propertyName"), body.get("indexType")
        if not isinstance(key, str) or not key or kind not in KINDS:
            raise refused(400, NOT_JSON, "expected propertyName, and indexType: string, number or boolean")
        return ok({"mutationId": self.declare(index, key, str(kind))})

    async def _declared(self, request: Request) -> Reply:
        declared = self._find(request).declared()
        return ok({"metadataIndexes": [{"propertyName": key, "indexType": kind} for key, kind in declared.items()]})

    async def _undeclare(self, request: Request) -> Reply:
        index = self._find(request)
        return ok({"mutationId": self.declare(index, str(_json(request).get("propertyName")), None)})


def _json(request: Request) -> dict[str, Any]:
    if request.content_type != JSON:
        raise refused(400, NOT_JSON, "Expected request with `Content-Type: application/json`")
    return read_object(request, NOT_JSON, "Failed to parse the request body as JSON")


def _ids(request: Request, most: int) -> list[str]:
    ids = _json(request).get("ids")
    if not isinstance(ids, list) or not ids or not all(isinstance(id_, str) for id_ in ids):
        raise refused(400, NOT_JSON, "Failed to parse the request body as JSON: ids: expected a list of strings")
    if len(ids) > most:
        message = f"too many ids in payload; max id count is {most}, got {len(ids)}"
        raise refused(400, TOO_MANY_IDS, message)
    return ids


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _invalid(reason: str) -> Exception:
    return refused(400, INDEX_INVALID, f"vectorize.index.invalid - {reason}")
