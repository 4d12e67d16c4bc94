"""Tests against a real account, under a name of their own: they run only with LIVE=1 and credentials.

    LIVE=1 LIVE_CLOUDFLARE_ACCOUNT_ID=... LIVE_CLOUDFLARE_API_TOKEN=... python -m pytest tests/live

LIVE_CLOUDFLARE_API_BASE_URL points them elsewhere, such as at ``memory-gateway double``. They create one D1 database
and one Vectorize index, named ``memory-gateway-live-...`` and ``lt-memory-live-...``, and delete both.
"""

import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from ulid import ULID

from app.adapters.cloudflare.account import Account, Placement
from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import BASE_URL, CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.vectorize import SCOPE_TYPES, VectorizeIndex
from app.adapters.upstream import Call
from app.domain.embedding import EmbeddingConfig
from app.observability.metrics import Metrics

_MAX_CALLS = 400


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave these out where no account is given: a skip would only be noise."""
    del collection_path
    return None if os.environ.get("LIVE") == "1" else True


@pytest.fixture(autouse=True)
def _any_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what refuses a connection to another host: sockets inherit how they connect."""
    monkeypatch.delattr(socket.socket, "connect")


@dataclass(frozen=True, slots=True)
class Live:
    """What a test has of the account."""

    client: CloudflareClient
    database_id: str
    index: VectorizeIndex
    config: EmbeddingConfig

    @property
    def database(self) -> D1Database:
        return D1Database(self.client, self.database_id)


@pytest.fixture
async def live() -> AsyncIterator[Live]:
    client = CloudflareClient(
        account_id=os.environ["LIVE_CLOUDFLARE_ACCOUNT_ID"],
        api_token=os.environ["LIVE_CLOUDFLARE_API_TOKEN"],
        base_url=os.environ.get("LIVE_CLOUDFLARE_API_BASE_URL", BASE_URL),
        call_budget=CallBudget(_MAX_CALLS),
        metrics=Metrics(),
    )
    name = str(ULID()).lower()
    config = EmbeddingConfig("live", name, 32)
    account = Account(client)
    database_id = await account.create_database(f"memory-gateway-live-{name}", Placement())
    try:
        await account.create_index(config)
        await account.create_metadata_indexes(config.index_name, SCOPE_TYPES)
        yield Live(client, database_id, VectorizeIndex(client, config, filterable={}), config)
    finally:
        if await account.index_exists(config.index_name):
            path = f"/vectorize/v2/indexes/{config.index_name}"
            await client.call(Call("vectorize.delete", "DELETE", path))
        await client.call(Call("d1.delete", "DELETE", f"/d1/database/{database_id}"))
        await client.close()
