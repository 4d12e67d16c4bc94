"""The entry for a Container: how its Worker starts the image, what it passes on, and what its cron trigger does."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.adapters.cloudflare.d1 import D1Database
from app.ports.database import Statement
from app.storage.migrations.runner import migrate
from tests.conformance.edge import AUTH_SECRETS, Edge, edge_client
from tests.deploy.test_edge import configuration
from tests.process.server import run

OLD_KEY = Statement.write(
    "INSERT INTO idempotency (tenant_id, agent_id, key, request_hash, memory_id, created_at) "
    "SELECT 'acme', 'bot', 'k', ?1 ->> 'hash', 'm', 1",
    hash="0" * 64,
)


@pytest.fixture
def public(edge: Edge) -> Iterator[httpx.Client]:
    """What the Worker answers to anyone."""
    with httpx.Client(base_url=f"{edge.origin}/public", timeout=30, verify=False) as client:
        yield client


def test_a_request_starts_the_image_with_no_network_but_the_bindings(edge: Edge, public: httpx.Client) -> None:
    for _ in range(2):
        assert public.post("/recall", json={}).json() == {"port": 8000, "path": "/recall"}
    container = edge.started("service")
    assert container["enableInternet"] is False
    assert container["intercepted"] == ["memory.internal"]
    assert "entrypoint" not in container
    assert container["env"] == {
        "CLOUDFLARE_API_BASE_URL": "http://memory.internal/client/v4",
        "CLOUDFLARE_ACCOUNT_ID": "0" * 32,
        "CLOUDFLARE_API_TOKEN": "not-asked-for",
        "CLOUDFLARE_D1_DATABASE_ID": edge.own.database_id,
        "EMBEDDER": "hashing",
        "READER": "none",
        "AUTH_SECRETS": AUTH_SECRETS,
        "ALLOWED_HOSTS": "*",
    }


@pytest.mark.parametrize("path", ["/metrics", "/readyz", "/healthz", "/x/../metrics", "/%2e/metrics", "/client%2Fv4"])
def test_what_asks_for_no_credential_reaches_no_container(public: httpx.Client, path: str) -> None:
    assert public.get(path).status_code == 404


def trigger(edge: Edge) -> None:
    """Send the event of the cron trigger that the configuration has."""
    (cron,) = configuration("wrangler.container.jsonc")["triggers"]["crons"]
    answer = httpx.get(f"{edge.origin}/cdn-cgi/local/scheduled", params={"cron": cron}, timeout=30, verify=False)
    assert (answer.status_code, answer.text) == (200, "ok")


async def test_the_cron_trigger_prunes_by_the_image_and_the_bindings(edge: Edge, tmp_path: Path) -> None:
    """What the Worker starts is run here; only the Container's own network is another."""
    url = edge.base_url("container", edge.own)
    async with edge_client(url) as client:
        database = D1Database(client, edge.own.database_id)
        await migrate(database)
        await database.run([OLD_KEY])
        trigger(edge)
        container = edge.started("prune")
        assert container["intercepted"] == ["memory.internal"]
        command, *arguments = container["entrypoint"]
        assert command == "memory-gateway"
        done = run(tmp_path / "data", *arguments, **container["env"] | {"CLOUDFLARE_API_BASE_URL": url})
        assert done.returncode == 0, done.stderr
        assert "1 idempotency keys" in done.stdout
        assert await database.run([Statement.read("SELECT 1 FROM idempotency")]) == [[]]
