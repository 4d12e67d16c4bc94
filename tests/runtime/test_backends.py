"""A database and an index that cannot be asked together are refused before anything is asked."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.adapters.coalescing.database import CoalescingDatabase
from app.adapters.coalescing.index import CoalescingIndex
from app.adapters.local.sqlite_file import SqliteFile
from app.bootstrap.account import build_client
from app.domain.errors import ConfigurationError
from app.observability.metrics import Metrics
from app.runtime.backends import Backends
from app.settings import Settings
from tests.support.apart import IndexApart
from tests.support.service import serving


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Backends]:
    async with serving(tmp_path) as service:
        yield service.runtime.backends


@pytest.fixture
async def client() -> AsyncIterator[CloudflareClient]:
    client = build_client(Settings(cloudflare_account_id="0" * 32, cloudflare_api_token="token"), Metrics())
    yield client
    await client.close()


async def test_a_database_of_d1_beside_an_index_in_a_file_is_refused(local: Backends, client: CloudflareClient) -> None:
    for database in (D1Database(client, "db-1"), CoalescingDatabase(D1Database(client, "db-1"))):
        with pytest.raises(ConfigurationError, match=r"sqlite-exact stands beside a database of sqlite.*cloudflare-d1"):
            replace(local, database=database)


async def test_an_index_of_vectorize_beside_a_database_in_a_file_is_refused(
    local: Backends, client: CloudflareClient
) -> None:
    index = VectorizeIndex(client, local.embedder.config, filterable={})
    for each in (index, CoalescingIndex(index)):
        with pytest.raises(ConfigurationError, match="beside a database of cloudflare-d1, and not beside sqlite"):
            replace(local, index=each)
        assert replace(local, database=D1Database(client, "db-1"), index=each).index is each


async def test_an_index_that_no_run_asks_may_stand_beside_any_database(
    local: Backends, client: CloudflareClient, tmp_path: Path
) -> None:
    file = SqliteFile(tmp_path / "vectors.sqlite3")
    index = IndexApart(file, local.embedder.config, cache_bytes=0)
    assert replace(local, database=D1Database(client, "db-1"), index=index).index is index
    await file.close()
