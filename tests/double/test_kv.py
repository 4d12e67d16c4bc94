"""The double's Workers KV."""

import time
from typing import Any

import pytest

from app.double.account import DoubleOptions
from app.double.server import running
from tests.double.conftest import Client, code

BASE = "/storage/kv/namespaces"


@pytest.fixture
def path(client: Client, request: pytest.FixtureRequest) -> str:
    return f"{BASE}/{client.post(BASE, {'title': request.node.name}).json()['result']['id']}"


def put(client: Client, path: str, key: str, value: bytes, **params: Any) -> int:
    return client.call("PUT", f"{path}/values/{key}", content=value, params=params).status_code


def test_a_value_comes_back_raw(client: Client, path: str) -> None:
    assert put(client, path, "a%2Fb", b"\x00\xff") == 200
    answer = client.get(f"{path}/values/a%2Fb")
    assert (answer.content, answer.headers["content-type"]) == (b"\x00\xff", "application/octet-stream")
    assert "expiration" not in answer.headers
    assert client.get(f"{path}/keys").json()["result"] == [{"name": "a/b"}]


def test_what_is_not_there_is_not_found(client: Client, path: str) -> None:
    assert code(client.get(f"{path}/values/absent")) == (404, 10009)
    assert code(client.get(f"{path}/metadata/absent")) == (404, 10009)
    assert code(client.get(f"{BASE}/{'0' * 32}/values/absent")) == (404, 10013)


def test_a_deleted_value_is_gone(client: Client, path: str) -> None:
    put(client, path, "a", b"1")
    assert client.call("DELETE", f"{path}/values/a").status_code == 200
    assert client.get(f"{path}/values/a").status_code == 404


def test_a_form_carries_metadata(client: Client, path: str) -> None:
    value = b"\x00\r\n\xff\x85\n"
    files = {"value": (None, value), "metadata": (None, b'{"a": 1}')}
    assert client.call("PUT", f"{path}/values/k", files=files).status_code == 200
    assert client.get(f"{path}/values/k").content == value
    assert client.get(f"{path}/metadata/k").json()["result"] == {"a": 1}
    assert client.get(f"{path}/keys").json()["result"] == [{"name": "k", "metadata": {"a": 1}}]


@pytest.mark.parametrize("params", [{"expiration_ttl": 59}, {"expiration": 60}, {"expiration_ttl": "soon"}])
def test_an_expiry_less_than_a_minute_away_is_refused(client: Client, path: str, params: Any) -> None:
    assert put(client, path, "k", b"1", **params) == 400


def test_a_value_expires_and_a_later_put_clears_the_expiry() -> None:
    with running(DoubleOptions(time_scale=600)) as handle, Client.connected(handle) as client:
        path = f"{BASE}/{client.post(BASE, {'title': 't'}).json()['result']['id']}"
        put(client, path, "kept", b"1", expiration_ttl=60)
        put(client, path, "k", b"1", expiration_ttl=60)
        put(client, path, "kept", b"2")
        answer = client.get(f"{path}/values/k")
        assert answer.headers["expiration"].isdecimal()
        deadline = time.monotonic() + 5
        while client.get(f"{path}/values/k").status_code == 200 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert client.get(f"{path}/values/k").status_code == 404
        assert client.get(f"{path}/values/kept").content == b"2"


def test_many_are_put_listed_in_pages_and_deleted(client: Client, path: str) -> None:
    pairs = [{"key": f"k{n:02}", "value": "dg==", "base64": True, "metadata": {"n": n}} for n in range(15)]
    answer = client.call("PUT", f"{path}/bulk", json=pairs)
    assert answer.json()["result"] == {"successful_key_count": 15, "unsuccessful_keys": []}
    assert client.get(f"{path}/values/k03").content == b"v"
    first = client.get(f"{path}/keys?limit=10&prefix=k").json()
    second = client.get(f"{path}/keys", params={"limit": 10, "cursor": first["result_info"]["cursor"]}).json()
    assert [entry["name"] for entry in first["result"] + second["result"]] == [f"k{n:02}" for n in range(15)]
    assert second["result_info"]["cursor"] == ""
    client.post(f"{path}/bulk/delete", ["k00", "k01"])
    assert len(client.get(f"{path}/keys").json()["result"]) == 13


@pytest.mark.parametrize("body", [[], {}, ["a"], [{"key": "a"}], [{"key": "a", "value": "?", "base64": True}]])
def test_a_malformed_bulk_is_refused(client: Client, path: str, body: Any) -> None:
    assert client.call("PUT", f"{path}/bulk", json=body).status_code == 400


def test_keys_and_metadata_have_limits(client: Client, path: str) -> None:
    assert put(client, path, "k" * 512, b"1") == 200
    assert put(client, path, "k" * 513, b"1") == 400
    files = {"value": (None, b"1"), "metadata": (None, b'"' + b"x" * 1023 + b'"')}
    assert client.call("PUT", f"{path}/values/k", files=files).status_code == 413


def test_namespaces_are_listed_and_deleted(client: Client, path: str) -> None:
    namespace = client.get(path).json()["result"]
    assert namespace in client.get(f"{BASE}?per_page=100").json()["result"]
    assert client.post(BASE, {"title": namespace["title"]}).status_code == 400
    assert client.call("DELETE", path).status_code == 200
    assert code(client.get(path)) == (404, 10013)
