"""What the edge refuses reaches no binding, and says why in the terms of Cloudflare's REST API."""

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.conformance.edge import ACCOUNT_ID, ENTRIES, NEXT_SECRET, SECRET, TOO_SHORT, Edge, Slot

QUERY = {"vector": [1.0] * 32, "topK": 3, "returnMetadata": "none"}
HITS = "a text of sixteen"


@pytest.fixture(scope="module")
def slot(edge: Edge) -> Slot:
    return edge.slot()


class Caller:
    """Sends requests as they are given."""

    def __init__(self, edge: Edge, entry: str, slot: Slot) -> None:
        self.edge = edge
        self.slot = slot
        self.url = f"{edge.base_url(entry, slot)}/accounts/{ACCOUNT_ID}"
        self.http = httpx.Client(timeout=30, verify=False)
        edge.reached()

    @property
    def d1(self) -> str:
        return f"/d1/database/{self.slot.database_id}/query"

    @property
    def index(self) -> str:
        return f"/vectorize/v2/indexes/{self.slot.config.index_name}"

    def send(self, method: str, path: str, *, secret: str = SECRET, **sent: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {secret}"} | sent.pop("headers", {})
        return self.http.request(method, self.url + path, headers=headers, **sent)

    def refused(self, method: str, path: str, **sent: Any) -> tuple[int, int]:
        """Send what must be refused before it reaches a binding; return the status and the code."""
        answer = self.send(method, path, **sent)
        body = answer.json()
        assert (body["success"], body["result"], body["messages"]) == (False, None, [])
        (error,) = body["errors"]
        assert error["message"]
        assert answer.headers["date"]
        assert self.edge.reached() == []
        return answer.status_code, error["code"]


@pytest.fixture(params=ENTRIES)
def caller(request: pytest.FixtureRequest, edge: Edge, slot: Slot) -> Iterator[Caller]:
    caller = Caller(edge, request.param, slot)
    yield caller
    assert caller.send("POST", caller.d1, json={"sql": "SELECT 1 AS one"}).json()["result"][0]["results"] == [
        {"one": 1}
    ]
    caller.http.close()


@pytest.fixture
def public(edge: Edge, slot: Slot) -> Iterator[Caller]:
    caller = Caller(edge, "worker", slot)
    yield caller
    caller.http.close()


@pytest.mark.parametrize("secret", ["wrong", SECRET[:-1], SECRET + "x", SECRET.upper(), "x" * 100_000])
def test_a_wrong_secret(public: Caller, secret: str) -> None:
    large = b"x" * 1_000_000
    for path in ("/capabilities", public.d1, f"{public.index}/query", "/recall-fused", "/nothing"):
        status, code = public.refused("POST", path, secret=secret[:8000], content=large)
        assert (status, code) == (401, 10000)


@pytest.mark.parametrize(
    ("secret", "equal"),
    [
        (NEXT_SECRET, [True, False]),
        (SECRET, [False, True]),
        ("wrong", [False, False]),
        (SECRET[:-1], [False, False]),
        (TOO_SHORT, [False, False]),
        ("x" * 8000, [False, False]),
    ],
)
def test_a_secret_is_compared_with_each_in_constant_time_by_digests_of_one_length(
    public: Caller, secret: str, equal: list[bool]
) -> None:
    """Any other comparison, or one that ends at the first secret that is equal, tells of the secrets by its time."""
    public.edge.compared()
    answer = public.send("GET", "/capabilities", secret=secret)
    assert public.edge.compared() == [([32, 32], each) for each in equal]
    assert answer.status_code == (200 if any(equal) else 401)


@pytest.mark.parametrize("header", ["", SECRET, f"bearer {SECRET}", f"Basic {SECRET}", f"Bearer  {SECRET}"])
def test_a_secret_in_another_form(public: Caller, header: str) -> None:
    assert public.refused("GET", "/capabilities", headers={"Authorization": header}) == (401, 10000)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/d1/database/{other}/query", 7404),
        ("/d1/database/constructor/query", 7404),
        ("/d1/database/__proto__/query", 7404),
        ("/d1/database/DB_{number}/query", 7404),
        ("/vectorize/v2/indexes/{other_index}/query", 3000),
        ("/vectorize/v2/indexes/toString/query", 3000),
        ("/vectorize/v2/indexes/VEC_{number}/query", 3000),
        ("/ai/run/@cf/baai/bge-small-en-v1.5", 5007),
        ("/ai/run/@cf/meta/llama-4-scout-17b-16e-instruct", 5007),
    ],
)
def test_what_is_not_in_the_configuration(caller: Caller, edge: Edge, path: str, code: int) -> None:
    """The names of the Worker's own bindings are in it, but not as what is asked for."""
    other, number = edge.unused[0], caller.slot.number
    path = path.format(other=other.database_id, other_index=other.config.index_name, number=number)
    assert caller.refused("POST", path, json={"sql": "SELECT 1", **QUERY}) == (404, code)


@pytest.mark.parametrize("path", ["", "/", "/d1", "/nothing", "/d1/database/{id}/query/more", "/../../secret", "/ai2"])
def test_an_unknown_path(caller: Caller, path: str) -> None:
    status, code = caller.refused("POST", path.format(id=caller.slot.database_id), json={"sql": "SELECT 1"})
    assert (status, code) in {(404, 7003), (405, 7001)}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "{d1}"),
        ("DELETE", "{index}"),
        ("POST", "/vectorize/v2/indexes"),
        ("GET", "{index}/list"),
        ("POST", "{index}/metadata_index/create"),
        ("POST", "/d1/database"),
        ("POST", "/ai/v1/chat/completions"),
        ("PUT", "/capabilities"),
    ],
)
def test_what_a_binding_does_not_do(caller: Caller, method: str, path: str) -> None:
    assert caller.refused(method, path.format(d1=caller.d1, index=caller.index), content=b"{}") == (405, 7001)


def test_a_body_of_twenty_megabytes(caller: Caller) -> None:
    body = json.dumps({"sql": "SELECT ?1 AS x", "params": ["x" * 20_000_000]}).encode()
    for path in (caller.d1, f"{caller.index}/upsert", "/recall-fused"):
        assert caller.refused("POST", path, content=body) == (413, 7400)
        assert caller.refused("POST", path, content=(body[at : at + 65536] for at in range(0, len(body), 65536))) == (
            413,
            7400,
        )


def test_a_body_in_chunks_is_bounded_whatever_length_is_told(caller: Caller) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    answer = raw(caller, ["Transfer-Encoding: chunked", "Content-Length: 5"], chunk * 300 + b"0\r\n\r\n")
    assert answer.startswith("HTTP/1.1 413 ")
    assert caller.edge.reached() == []


@pytest.mark.parametrize("length", ["", "-5", "0x5", "1e1"])
def test_a_length_that_is_no_number_is_refused(caller: Caller, length: str) -> None:
    assert raw(caller, [f"Content-Length: {length}"]).startswith("HTTP/1.1 400 ")
    assert caller.edge.reached() == []


def raw(caller: Caller, headers: list[str], body: bytes = b"") -> str:
    """Send what a client of HTTP would not send; return how the answer begins."""
    url = urlsplit(f"{caller.url}{caller.d1}")
    head = [f"POST {url.path} HTTP/1.1", f"Host: {url.netloc}", f"Authorization: Bearer {SECRET}", *headers, "", ""]
    with socket.create_connection((url.hostname, url.port), timeout=30) as connection:
        connection.sendall("\r\n".join(head).encode() + body)
        return connection.recv(4096).decode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"batch": []}',
        b'{"batch": [1]}',
        b'{"batch": [{"sql": 7}]}',
        b'{"sql": "SELECT 1", "params": "x"}',
        b'{"sql": "SELECT 1", "params": {"a": 1}}',
        json.dumps({"batch": [{"sql": "SELECT 1"}] * 101}).encode(),
    ],
)
def test_a_body_that_is_no_query(caller: Caller, body: bytes) -> None:
    assert caller.refused("POST", caller.d1, content=body) == (400, 7400)


@pytest.mark.parametrize(
    "change",
    [
        {"queries": [{"index": "{index}", "query": QUERY, "hits": "short"}]},
        {"queries": [{"index": "{index}", "query": QUERY}]},
        {"queries": [{"index": "{index}", "query": [], "hits": HITS}]},
        {"queries": [7]},
        {"queries": []},
        {"queries": {}},
        {"queries": [{"index": "{index}", "query": QUERY, "hits": HITS}] * 101},
        {"batch": []},
    ],
)
def test_a_fused_recall_that_cannot_be_read(caller: Caller, change: dict[str, Any]) -> None:
    body = {"database": caller.slot.database_id, "batch": [{"sql": "SELECT 1"}], **change}
    sent = json.dumps(body).replace("{index}", caller.slot.config.index_name)
    assert caller.refused("POST", "/recall-fused", content=sent) == (400, 7400)


@pytest.mark.parametrize("vector", ["none", '"text"', "{}", "7", '["1"]', "[1, null]", "[[1.0]]", "[1e999]", "[true]"])
def test_a_vector_that_is_none_reaches_no_index_whatever_is_asked_before_it(caller: Caller, vector: str) -> None:
    query = json.dumps(QUERY).replace(json.dumps(QUERY["vector"]), vector) if vector != "none" else "{}"
    assert caller.refused("POST", f"{caller.index}/query", content=query) == (400, 40026)
    each = f'{{"index": "{caller.slot.config.index_name}", "hits": "{HITS}", "query": '
    queries = f"[{each}{json.dumps(QUERY)}}}, {each}{query}}}]"
    body = f'{{"database": "{caller.slot.database_id}", "batch": [{{"sql": "SELECT 1"}}], "queries": {queries}}}'
    assert caller.refused("POST", "/recall-fused", content=body) == (400, 40026)


def test_a_fused_recall_of_another_database_or_index(caller: Caller, edge: Edge) -> None:
    other = edge.unused[0]
    queries = [{"index": other.config.index_name, "query": QUERY, "hits": HITS}]
    body: dict[str, Any] = {"database": caller.slot.database_id, "batch": [{"sql": "SELECT 1"}], "queries": queries}
    assert caller.refused("POST", "/recall-fused", json=body) == (404, 3000)
    body = {**body, "database": other.database_id, "queries": []}
    assert caller.refused("POST", "/recall-fused", json=body) == (404, 7404)


@pytest.mark.parametrize("bookmark", ["", "a b", "x" * 129, "é".encode().decode("latin-1"), "a,b"])
def test_a_bookmark_that_is_none(caller: Caller, bookmark: str) -> None:
    headers = {"x-d1-bookmark": bookmark.encode("latin-1")}
    assert caller.refused("POST", caller.d1, json={"sql": "SELECT 1"}, headers=headers) == (400, 7400)


def test_a_container_s_own_proxy_lets_its_calls_of_the_host_through_and_no_others(edge: Edge) -> None:
    answer = httpx.get(f"{edge.origin}/proxy/0/client/v4/capabilities", timeout=30, verify=False)
    assert answer.json()["result"]["features"] == ["recall-fused", "sessions"]
