"""Workers KV's REST endpoints.

https://developers.cloudflare.com/api/resources/kv/subresources/namespaces/
"""

import base64
from collections.abc import Iterator
from typing import Any

import orjson

from app.double.clock import Clock
from app.double.journal import Journal
from app.double.kv.namespaces import INVALID, Entry, Namespaces, decoded
from app.double.multipart import form_field
from app.double.routing import Route
from app.double.v4 import ok, page, read_object, refused
from app.double.wire import Refusal, Reply, Request

_PAIRS_MOST = 10_000
_KEYS_LEAST, _KEYS_MOST = 10, 1_000
_PER_PAGE = 20
_MALFORMED = "could not parse the request body"


class KV:
    """The account's key-value namespaces."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        """Take up what the journal knows."""
        self._namespaces = Namespaces(journal, clock)

    def routes(self, prefix: str) -> Iterator[Route]:
        """Return the endpoints below the account's path."""
        base = f"{prefix}/storage/kv/namespaces"
        one = f"{base}/{{namespace}}"
        yield Route("kv.get", "GET", f"{one}/values/{{key*}}", self._get)
        yield Route("kv.put", "PUT", f"{one}/values/{{key*}}", self._put)
        yield Route("kv.delete", "DELETE", f"{one}/values/{{key*}}", self._delete)
        yield Route("kv.metadata", "GET", f"{one}/metadata/{{key*}}", self._metadata)
        yield Route("kv.keys", "GET", f"{one}/keys", self._keys)
        yield Route("kv.bulk_put", "PUT", f"{one}/bulk", self._bulk_put)
        yield Route("kv.bulk_delete", "POST", f"{one}/bulk/delete", self._bulk_delete)
        yield Route("kv.create", "POST", base, self._create)
        yield Route("kv.list", "GET", base, self._list)
        yield Route("kv.get_namespace", "GET", one, self._get_namespace)
        yield Route("kv.delete_namespace", "DELETE", one, self._delete_namespace)

    async def _create(self, request: Request) -> Reply:
        title = read_object(request, INVALID, _MALFORMED).get("title")
        if not isinstance(title, str) or not title:
            raise refused(400, INVALID, "create namespace: 'title is required'")
        namespace = self._namespaces.create(title)
        return ok({"id": namespace.id, "title": title, "supports_url_encoding": True})

    async def _list(self, request: Request) -> Reply:
        shown = [
            {"id": namespace.id, "title": namespace.title, "supports_url_encoding": True}
            for namespace in self._namespaces.all()
        ]
        return page(request, shown, per_page=_PER_PAGE)

    async def _get_namespace(self, request: Request) -> Reply:
        namespace = self._namespaces.find(request.parameters["namespace"])
        return ok({"id": namespace.id, "title": namespace.title, "supports_url_encoding": True})

    async def _delete_namespace(self, request: Request) -> Reply:
        self._namespaces.remove(self._namespaces.find(request.parameters["namespace"]))
        return ok(None)

    async def _get(self, request: Request) -> Reply:
        entry = self._entry(request)
        headers = {} if entry.expiration is None else {"expiration": str(entry.expiration)}
        return Reply(200, entry.value, "application/octet-stream", headers)

    async def _metadata(self, request: Request) -> Reply:
        return ok(self._entry(request).metadata)

    async def _put(self, request: Request) -> Reply:
        namespace = self._namespaces.find(request.parameters["namespace"])
        expiration = self._namespaces.expiration(request.query.get("expiration"), request.query.get("expiration_ttl"))
        value, metadata = _value(request)
        self._namespaces.put(namespace, request.parameters["key"], Entry(value, metadata, expiration))
        return ok(None)

    async def _delete(self, request: Request) -> Reply:
        namespace = self._namespaces.find(request.parameters["namespace"])
        self._namespaces.delete(namespace, request.parameters["key"])
        return ok(None)

    async def _keys(self, request: Request) -> Reply:
        namespace = self._namespaces.find(request.parameters["namespace"])
        limit = request.query.get("limit", str(_KEYS_MOST))
        if not limit.isdecimal() or not _KEYS_LEAST <= int(limit) <= _KEYS_MOST:
            raise refused(400, INVALID, f"list keys: 'limit must be from {_KEYS_LEAST} to {_KEYS_MOST}'")
        after = _after(request.query.get("cursor", ""))
        listed = [pair for pair in self._namespaces.keys(namespace, request.query.get("prefix", "")) if pair[0] > after]
        shown = listed[: int(limit)]
        cursor = base64.urlsafe_b64encode(shown[-1][0].encode()).decode() if len(listed) > len(shown) else ""
        return ok([_listed(key, entry) for key, entry in shown], info={"count": len(shown), "cursor": cursor})

    async def _bulk_put(self, request: Request) -> Reply:
        namespace = self._namespaces.find(request.parameters["namespace"])
        pairs = _list(request)
        entries = [self._pair(pair) for pair in pairs]
        for key, entry in entries:
            self._namespaces.put(namespace, key, entry)
        return ok({"successful_key_count": len(entries), "unsuccessful_keys": []})

    async def _bulk_delete(self, request: Request) -> Reply:
        namespace = self._namespaces.find(request.parameters["namespace"])
        keys = _list(request)
        for key in keys:
            self._namespaces.delete(namespace, str(key))
        return ok({"successful_key_count": len(keys), "unsuccessful_keys": []})

    def _entry(self, request: Request) -> Entry:
        namespace = self._namespaces.find(request.parameters["namespace"])
        return self._namespaces.get(namespace, request.parameters["key"])

    def _pair(self, pair: object) -> tuple[str, Entry]:
        if not isinstance(pair, dict) or not all(isinstance(pair.get(field), str) for field in ("key", "value")):
            raise refused(400, INVALID, "bulk put: 'every pair needs a key and a value'")
        try:
            value = decoded(pair["value"], base64_encoded=pair.get("base64") is True)
        except ValueError as error:
            raise refused(400, INVALID, f"bulk put: '{error}'") from error
        expiration = self._namespaces.expiration(pair.get("expiration"), pair.get("expiration_ttl"))
        return pair["key"], Entry(value, pair.get("metadata"), expiration)


def _listed(key: str, entry: Entry) -> dict[str, Any]:
    listed: dict[str, Any] = {"name": key}
    if entry.expiration is not None:
        listed["expiration"] = entry.expiration
    if entry.metadata is not None:
        listed["metadata"] = entry.metadata
    return listed


def _value(request: Request) -> tuple[bytes, Any]:
    """Return the value and the metadata: of a form its fields, else the body as it is."""
    if request.content_type != "multipart/form-data":
        return request.body, None
    value = form_field(request.headers["content-type"], request.body, "value")
    metadata = form_field(request.headers["content-type"], request.body, "metadata")
    if value is None:
        raise refused(400, INVALID, "put: 'the form has no value'")
    try:
        return value, orjson.loads(metadata) if metadata else None
    except orjson.JSONDecodeError as error:
        raise refused(400, INVALID, "put: 'metadata is not JSON'") from error


def _list(request: Request) -> list[Any]:
    try:
        content = request.json()
    except ValueError as error:
        raise _wrong_list() from error
    if not isinstance(content, list) or not 1 <= len(content) <= _PAIRS_MOST:
        raise _wrong_list()
    return content


def _wrong_list() -> Refusal:
    return refused(400, INVALID, f"bulk: 'expected a list of 1 to {_PAIRS_MOST}'")


def _after(cursor: str) -> str:
    try:
        return base64.urlsafe_b64decode(cursor).decode()
    except ValueError as error:
        raise refused(400, INVALID, "list keys: 'invalid cursor'") from error
