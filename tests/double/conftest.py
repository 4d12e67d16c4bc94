"""A double on a real socket, and a client that knows its paths."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import Handle, running

DIMENSIONS = 32
ACCOUNT = "0" * 32


@dataclass(frozen=True, slots=True)
class Client:
    """Calls a running double."""

    handle: Handle
    http: httpx.Client

    @classmethod
    @contextmanager
    def connected(cls, handle: Handle) -> "Iterator[Client]":
        with httpx.Client(timeout=10, verify=False) as http:
            yield cls(handle, http)

    def call(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Call within the account; ``path`` begins with a slash."""
        url = f"{self.handle.cloudflare_url}/accounts/{ACCOUNT}{path}"
        headers = {"Authorization": "Bearer double-token"} | request.pop("headers", {})
        return self.http.request(method, url, headers=headers, **request)

    def post(self, path: str, body: Any = None, **request: Any) -> httpx.Response:
        return self.call("POST", path, json=body, **request)

    def get(self, path: str, **request: Any) -> httpx.Response:
        return self.call("GET", path, **request)

    def control(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return self.http.request(method, f"{self.handle.url}/_double/{path}", json=body)

    def openai(self, body: Any, path: str = "embeddings", key: str = "double-key") -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"}
        return self.http.post(f"{self.handle.openai_url}/{path}", json=body, headers=headers)


@dataclass(frozen=True, slots=True)
class Sql:
    """A D1 database of a test's own."""

    client: Client
    uuid: str

    def ask(self, sql: str, *params: Any, path: str = "query") -> httpx.Response:
        return self.client.post(f"/d1/database/{self.uuid}/{path}", {"sql": sql, "params": list(params)})

    def batch(self, *statements: str) -> httpx.Response:
        body = {"batch": [{"sql": sql, "params": []} for sql in statements]}
        return self.client.post(f"/d1/database/{self.uuid}/query", body)

    def rows(self, sql: str, *params: Any) -> list[dict[str, Any]]:
        answer = self.ask(sql, *params)
        assert answer.status_code == 200, answer.text
        rows: list[dict[str, Any]] = answer.json()["result"][0]["results"]
        return rows

    def error(self, sql: str, *params: Any) -> str:
        answer = self.ask(sql, *params)
        assert (answer.status_code, answer.json()["success"]) == (400, False), answer.text
        return str(answer.json()["errors"][0]["message"])


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """A Vectorize index of a test's own."""

    client: Client
    name: str

    @property
    def path(self) -> str:
        return f"/vectorize/v2/indexes/{self.name}"

    def write(self, vectors: Iterable[Mapping[str, Any]], *, kind: str = "upsert", query: str = "") -> httpx.Response:
        content = b"\n".join(orjson.dumps(vector) for vector in vectors)
        headers = {"Content-Type": "application/x-ndjson"}
        return self.client.call("POST", f"{self.path}/{kind}{query}", content=content, headers=headers)

    def ask(self, **query: Any) -> httpx.Response:
        return self.client.post(f"{self.path}/query", query)

    def found(self, **query: Any) -> set[str]:
        answer = self.ask(**({"vector": unit(0), "topK": 50} | query))
        assert answer.status_code == 200, answer.text
        return {match["id"] for match in answer.json()["result"]["matches"]}

    def info(self) -> dict[str, Any]:
        info: dict[str, Any] = self.client.get(f"{self.path}/info").json()["result"]
        return info

    def declare(self, key: str, kind: str = "string") -> httpx.Response:
        return self.client.post(f"{self.path}/metadata_index/create", {"propertyName": key, "indexType": kind})


def unit(axis: int, dimensions: int = DIMENSIONS) -> list[float]:
    return [float(position == axis) for position in range(dimensions)]


def vector(id_: str, axis: int = 0, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "values": unit(axis), **fields}


def code(answer: httpx.Response) -> tuple[int, int]:
    """The status and the first error's code."""
    return answer.status_code, answer.json()["errors"][0]["code"]


@pytest.fixture(scope="module")
def handle() -> Iterator[Handle]:
    """A double without a rate limit whose writes show at once."""
    with running(DoubleOptions(rate_limit=False, visibility_seconds=(0, 0))) as running_double:
        yield running_double


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=10, verify=False) as client:
        yield client


@pytest.fixture
def client(handle: Handle, http: httpx.Client) -> Iterator[Client]:
    yield Client(handle, http)
    handle.double.faults.clear()
    handle.double.reset_calls()


@pytest.fixture
def sql(client: Client, request: pytest.FixtureRequest) -> Sql:
    return Sql(client, client.handle.double.create_database(f"db-{abs(hash(request.node.name)):x}"))


@pytest.fixture
def index(client: Client, request: pytest.FixtureRequest) -> VectorIndex:
    name = f"index-{abs(hash(request.node.nodeid)):x}"
    client.handle.double.create_index(
        name, DIMENSIONS, {"tenant_id": "string", "created_at": "number", "done": "boolean", "deep.key": "string"}
    )
    return VectorIndex(client, name)
