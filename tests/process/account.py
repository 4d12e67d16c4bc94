"""A rehearsed Cloudflare account whose time flies, as the tests look into it: through its REST API."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np

from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.adapters.local.hashing import HashingEmbedder
from app.domain.json_types import to_json
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running
from tests.support.tables import Asked, argument_of, reading

_CONFIG = HashingEmbedder().config
_INDEX = f"/vectorize/v2/indexes/{_CONFIG.index_name}"
_MAX_IDS = 20
_PAGE = 100
_TIME_SCALE = 30
"""The service gives its requests a minute of the account's time: two seconds, which a busy machine may need."""
_ROUNDED = 0.001
"""What the outbox's float16 may be off by."""


@dataclass(frozen=True, slots=True)
class Account:
    """One running account, provisioned for the hashing embedder."""

    url: str
    base_url: str
    options: DoubleOptions
    database_id: str

    @property
    def settings(self) -> dict[str, str]:
        """What a server needs to know to work on it."""
        return {
            "CLOUDFLARE_ACCOUNT_ID": self.options.account_id,
            "CLOUDFLARE_API_TOKEN": self.options.api_token,
            "CLOUDFLARE_API_BASE_URL": self.base_url,
            "CLOUDFLARE_D1_DATABASE_ID": self.database_id,
            "CLOUDFLARE_CALLS_PER_WINDOW": "0",
        }

    def inject(self, **fault: Any) -> None:
        """Let something go wrong from now on (``double/memory_gateway_double/faults.py``)."""
        httpx.put(f"{self.url}/_double/faults", json=fault, trust_env=False, verify=False).raise_for_status()

    def heal(self) -> None:
        """Let nothing go wrong any more."""
        httpx.delete(f"{self.url}/_double/faults", trust_env=False, verify=False).raise_for_status()

    def settle(self) -> None:
        """Make every write that the index has acknowledged show."""
        httpx.post(f"{self.url}/_double/settle", trust_env=False, verify=False).raise_for_status()

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Ask the database."""
        result = self._call("POST", f"/d1/database/{self.database_id}/query", {"sql": sql, "params": []})
        rows: list[dict[str, Any]] = result[0]["results"]
        return rows

    def rows_of(self, table: str, *columns: str, **where: Asked) -> list[dict[str, Any]]:
        """Ask the database for the rows of a table that have these values."""
        query = {"sql": reading(table, columns, "", where), "params": [to_json(argument_of(where))] if where else []}
        rows: list[dict[str, Any]] = self._call("POST", f"/d1/database/{self.database_id}/query", query)[0]["results"]
        return rows

    def listed(self) -> set[str]:
        """Return the id of every vector that the index shows."""
        ids: set[str] = set()
        page = self._call("GET", f"{_INDEX}/list?count={_PAGE}")
        while True:
            ids |= {vector["id"] for vector in page["vectors"]}
            if not page["isTruncated"]:
                return ids
            page = self._call("GET", f"{_INDEX}/list?count={_PAGE}&cursor={page['nextCursor']}")

    def vectors(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return those of the vectors that the index shows, by id."""
        found: list[dict[str, Any]] = []
        for start in range(0, len(ids), _MAX_IDS):
            found += self._call("POST", f"{_INDEX}/get_by_ids", {"ids": list(ids[start : start + _MAX_IDS])})
        return {vector["id"]: vector for vector in found}

    async def halves(self) -> dict[str, list[str]]:
        """Return the ids of what is in the database or the index without its other half, by what is wrong."""
        rows = {row["id"]: row for row in self.rows_of("long_term_memory", "id", "agent_id", "content")}
        vectors, listed = self.vectors(list(rows)), self.listed()
        wanted = (await HashingEmbedder().embed([rows[id_]["content"] for id_ in vectors], "document")).vectors
        findings = {
            "memory without vector": rows.keys() - vectors.keys() | rows.keys() - listed,
            "vector without memory": listed - rows.keys(),
            "vector of another agent": {
                id_ for id_, vector in vectors.items() if vector["metadata"]["agent_id"] != rows[id_]["agent_id"]
            },
            "vector of another content": {
                id_
                for (id_, vector), values in zip(vectors.items(), wanted, strict=True)
                if not np.allclose(vector["values"], values, atol=_ROUNDED)
            },
        }
        return {name: sorted(ids) for name, ids in findings.items() if ids}

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        url = f"{self.base_url}/accounts/{self.options.account_id}{path}"
        headers = {"Authorization": f"Bearer {self.options.api_token}"}
        answer = httpx.request(method, url, json=body, headers=headers, trust_env=False, verify=False)
        answer.raise_for_status()
        return answer.json()["result"]


@contextmanager
def rehearsed(seed: int) -> Iterator[Account]:
    """Run an account whose index takes from 5 to 120 of its seconds for a batch: from 0.2 to 4 real ones."""
    options = DoubleOptions(time_scale=_TIME_SCALE, rate_limit=False, visibility_seconds=(5, 120), seed=seed)
    with running(options) as handle:
        handle.double.create_index(_CONFIG.index_name, _CONFIG.dimensions, dict(SCOPE_TYPES))
        yield Account(handle.url, handle.cloudflare_url, options, handle.double.create_database("memory-gateway"))
