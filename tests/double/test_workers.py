"""Workers and R2's buckets, as wrangler and a deployment use them, and what tokens with few permissions may do."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running
from tests.double.conftest import Client

SCRIPT = "/workers/scripts/edge"
METADATA = b'{"main_module": "w.js", "bindings": [{"type": "d1", "name": "DB", "id": "1"}], "observability": null}'
FILES = {"metadata": (None, METADATA), "w.js": ("w.js", b"export default {}")}


@pytest.fixture
def client() -> Iterator[Client]:
    limited = {"reads": ["D1 Read", "Workers Scripts Read"], "none": []}
    with running(DoubleOptions(limited_tokens=limited)) as handle, Client.connected(handle) as client:
        yield client


def code(answer: httpx.Response) -> tuple[int, int]:
    return answer.status_code, answer.json()["errors"][0]["code"]


def test_a_worker_is_uploaded_bound_and_deleted(client: Client) -> None:
    assert code(client.get("/workers/services/edge")) == (404, 10090)
    assert code(client.call("PUT", f"{SCRIPT}/secrets", json={"name": "A", "text": "hidden"})) == (404, 10007)
    assert client.call("PUT", SCRIPT, files=FILES).status_code == 200
    assert client.call("PUT", f"{SCRIPT}/secrets", json={"name": "A", "text": "hidden"}).status_code == 200
    assert client.call("PUT", SCRIPT, files=FILES).status_code == 200, "secrets outlive uploads"
    bindings = client.get(f"{SCRIPT}/settings").json()["result"]["bindings"]
    assert bindings == [{"type": "d1", "name": "DB", "id": "1"}, {"name": "A", "type": "secret_text"}]
    assert "hidden" not in client.get(f"{SCRIPT}/secrets").text
    assert [each["id"] for each in client.get("/workers/scripts").json()["result"]] == ["edge"]
    assert client.get(SCRIPT).content == b"export default {}"
    assert client.call("DELETE", f"{SCRIPT}/secrets/A").status_code == 200
    assert client.call("DELETE", f"{SCRIPT}?force=true").status_code == 200
    assert code(client.call("DELETE", SCRIPT)) == (404, 10007)


def test_a_version_serves_once_it_is_deployed(client: Client) -> None:
    client.call("PUT", SCRIPT, files=FILES)
    made = client.call("POST", f"{SCRIPT}/versions", files={**FILES, "w.js": ("w.js", b"new")}).json()["result"]
    assert client.get(SCRIPT).content == b"export default {}"
    deployed = {"strategy": "percentage", "versions": [{"version_id": made["id"], "percentage": 100}]}
    assert client.post(f"{SCRIPT}/deployments", deployed).status_code == 200
    assert client.get(SCRIPT).content == b"new"


@pytest.mark.parametrize("files", [{"metadata": (None, b"{")}, {"metadata": (None, METADATA)}])
def test_an_upload_that_lacks_something_is_refused(client: Client, files: dict[str, tuple[None, bytes]]) -> None:
    assert client.call("PUT", SCRIPT, files=files).status_code == 400
    assert code(client.get(f"{SCRIPT}/settings")) == (404, 10007)


def test_a_bucket_is_made_once_and_deleted_when_it_is_empty(client: Client) -> None:
    buckets = "/r2/buckets"
    assert client.post(buckets, {"name": "kept"}).status_code == 200
    assert code(client.post(buckets, {"name": "kept"})) == (409, 10004)
    assert code(client.post(buckets, {"name": "No"})) == (400, 10005)
    client.handle.double.r2.put("a", b"x", bucket="kept")
    assert code(client.call("DELETE", f"{buckets}/kept")) == (409, 10008)
    assert [each["key"] for each in client.get(f"{buckets}/kept/objects").json()["result"]] == ["a"]
    client.handle.double.r2.remove("a", bucket="kept")
    assert client.call("DELETE", f"{buckets}/kept").status_code == 200
    assert code(client.get(f"{buckets}/kept")) == (404, 10006)


def test_a_token_does_what_its_permissions_allow(client: Client) -> None:
    reads = {"headers": {"Authorization": "Bearer reads"}}
    assert client.get("/d1/database", **reads).status_code == 200
    assert client.get("/tokens/verify", **reads).json()["result"]["status"] == "active"
    assert code(client.post("/d1/database", {}, **reads)) == (403, 10000)
    assert code(client.get("/r2/buckets", **reads)) == (403, 10000)
    assert code(client.get("/d1/database", headers={"Authorization": "Bearer none"})) == (403, 10000)
    assert client.get("/d1/database", headers={"Authorization": "Bearer unknown"}).status_code == 401


def test_what_it_keeps_is_there_again(tmp_path: Path) -> None:
    options = DoubleOptions(data_dir=tmp_path)
    with running(options) as handle, Client.connected(handle) as client:
        client.call("PUT", SCRIPT, files=FILES)
        client.call("PUT", f"{SCRIPT}/secrets", json={"name": "A", "text": "hidden"})
        client.call("PUT", "/workers/scripts/gone", files=FILES)
        client.call("DELETE", "/workers/scripts/gone")
        client.post(f"{SCRIPT}/subdomain", {"enabled": True})
        client.post("/r2/buckets", {"name": "kept"})
    with running(options) as handle, Client.connected(handle) as client:
        assert list(handle.double.workers.scripts) == ["edge"]
        assert handle.double.workers.scripts["edge"].secrets == {"A": "hidden"}
        assert client.get(f"{SCRIPT}/subdomain").json()["result"]["enabled"] is True
        assert "kept" in handle.double.r2.buckets()
