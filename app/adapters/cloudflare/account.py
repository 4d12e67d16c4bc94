"""Finds, creates and deletes the D1 database and the Vectorize index of an account.

https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/create/ and
https://developers.cloudflare.com/api/resources/vectorize/subresources/indexes/methods/create/
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.vectorize_conditions import IndexType
from app.adapters.upstream import Call
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import UpstreamRejected

_DATABASE_ID = re.compile(r"[A-Za-z0-9_-]+")
_DATABASES = "/d1/database"
_INDEXES = "/vectorize/v2/indexes"


@dataclass(frozen=True, slots=True)
class Placement:
    """The region or the jurisdiction of a new database; a jurisdiction takes precedence. Neither can change later."""

    location_hint: str | None = None
    jurisdiction: str | None = None


class Account:
    """The part of the account's control plane that this service needs."""

    def __init__(self, client: CloudflareClient) -> None:
        """Use a client that the caller closes."""
        self._client = client

    async def database_id(self, name: str) -> str | None:
        """Return the id of the database of exactly this name, or None."""
        call = Call("d1.list", "GET", _DATABASES, query={"name": name, "per_page": "100"})
        found = _entries((await self._client.call(call)).result)
        named = next((entry for entry in found if entry.get("name") == name), None)
        return None if named is None else _uuid(named)

    async def jurisdiction(self, database_id: str) -> str | None:
        """Return the jurisdiction that binds a database; None where the database has no jurisdiction."""
        result = (await self._client.call(Call("d1.get", "GET", f"{_DATABASES}/{database_id}"))).result
        bound = result.get("jurisdiction") if isinstance(result, dict) else None
        return str(bound) if bound else None

    async def create_database(self, name: str, placement: Placement) -> str:
        """Create a database and return its id."""
        body: dict[str, Any] = {"name": name}
        if placement.location_hint:
            body["primary_location_hint"] = placement.location_hint
        if placement.jurisdiction:
            body["jurisdiction"] = placement.jurisdiction
        result = await self._post("d1.create", _DATABASES, body)
        return _uuid(result)

    async def delete_database(self, database_id: str) -> None:
        """Delete a database with all that it holds."""
        await self._client.call(Call("d1.delete", "DELETE", f"{_DATABASES}/{database_id}"))

    async def index_exists(self, name: str) -> bool:
        """Return whether an index of this name exists."""
        found = _entries((await self._client.call(Call("vectorize.list_indexes", "GET", _INDEXES))).result)
        return any(entry.get("name") == name for entry in found)

    async def create_index(self, config: EmbeddingConfig, name: str | None = None) -> None:
        """Create the index of an embedding config, with its dimensions and the cosine metric."""
        body = {
            "name": name or config.index_name,
            "description": f"Memory Gateway: {config}",
            "config": {"dimensions": config.dimensions, "metric": "cosine"},
        }
        await self._post("vectorize.create", _INDEXES, body)

    async def delete_index(self, name: str) -> None:
        """Delete an index with all that it holds."""
        await self._client.call(Call("vectorize.delete", "DELETE", f"{_INDEXES}/{name}"))

    async def create_metadata_indexes(self, index_name: str, wanted: Mapping[str, IndexType]) -> None:
        """Request metadata indexes, which Vectorize creates some time later."""
        for key, kind in wanted.items():
            body = {"propertyName": key, "indexType": kind}
            await self._post("vectorize.metadata_index.create", f"{_INDEXES}/{index_name}/metadata_index/create", body)

    async def _post(self, operation: str, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as JSON has it
        return (await self._client.call(Call(operation, "POST", path, orjson.dumps(body)))).result


def _uuid(database: Any) -> str:  # noqa: ANN401 - as JSON has it
    """Check and return the id, which becomes a part of paths and of a settings file."""
    id_ = database.get("uuid") if isinstance(database, dict) else None
    if not isinstance(id_, str) or not _DATABASE_ID.fullmatch(id_):
        raise UpstreamRejected("Cloudflare told of a database without telling its id.")
    return id_


def _entries(result: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - as JSON has it
    """Read a list of the account's resources."""
    entries = [] if result is None else result
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UpstreamRejected("Cloudflare answered a list in another form.")
    return entries
