"""The double as an operator runs it, and what it keeps."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running
from tests.double.conftest import Client, Sql, VectorIndex, vector

SERVE = (Path(sys.executable).with_name("memory-gateway"), "double", "--port", "0")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_announces_the_settings_and_stops_on_a_signal(stop: signal.Signals) -> None:
    with subprocess.Popen(SERVE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, b"")
        said = dict(line.decode().strip().split("=", 1) for line in lines_until(lines, b"/_double/") if b"=" in line)
        token = {"Authorization": f"Bearer {said['CLOUDFLARE_API_TOKEN']}"}
        url = said["CLOUDFLARE_API_BASE_URL"]
        assert httpx.get(f"{url}/accounts/{said['CLOUDFLARE_ACCOUNT_ID']}", headers=token).status_code == 200
        assert httpx.get(f"{url.removesuffix('/client/v4')}/_double/healthz").status_code == 200
        process.send_signal(stop)
        assert process.wait(10) in {0, 1, -stop}
    assert {"OPENAI_BASE_URL", "OPENAI_API_KEY"} <= set(said)


def lines_until(lines: Iterator[bytes], words: bytes) -> Iterator[bytes]:
    for line in lines:
        yield line
        if words in line:
            return


def test_what_it_keeps_is_there_again(tmp_path: Path) -> None:
    options = DoubleOptions(data_dir=tmp_path, visibility_seconds=(100, 100))
    with running(options) as handle, Client.connected(handle) as client:
        database, gone = handle.double.create_database("kept"), handle.double.create_database("gone")
        Sql(client, database).ask("CREATE TABLE t (a); INSERT INTO t VALUES (7)")
        client.call("DELETE", f"/d1/database/{gone}")
        handle.double.create_index("kept", 32, {"tenant_id": "string"})
        handle.double.create_index("gone", 32)
        client.call("DELETE", "/vectorize/v2/indexes/gone")
        index = VectorIndex(client, "kept")
        index.write([vector(id_, metadata={"tenant_id": "t"}) for id_ in ("a", "b", "c")])
        index.write([vector("c", metadata={"tenant_id": "other"})], kind="insert")
        client.post(f"{index.path}/delete_by_ids", {"ids": ["b"]})
    with running(options) as handle, Client.connected(handle) as client:
        assert Sql(client, database).rows("SELECT a FROM t") == [{"a": 7}]
        assert [entry["name"] for entry in client.get("/d1/database").json()["result"]] == ["kept"]
        assert [entry["name"] for entry in client.get("/vectorize/v2/indexes").json()["result"]] == ["kept"]
        assert VectorIndex(client, "kept").found(filter={"tenant_id": "t"}) == {"a", "c"}
