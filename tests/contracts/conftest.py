"""The adapters every contract is held against. A new adapter joins by a factory of its own."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.vectorize import SCOPE_TYPES, VectorizeIndex
from app.adapters.cloudflare.vectorize_conditions import IndexType
from app.adapters.coalescing.database import CoalescingDatabase
from app.adapters.coalescing.index import CoalescingIndex
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.domain.embedding import EmbeddingConfig
from app.observability.metrics import Metrics
from app.ports.database import Database
from app.ports.index_admin import IndexAdmin
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import Handle, running

CONFIG = EmbeddingConfig("test", "thirty-two", 32)
FILTERABLE: dict[str, IndexType] = {"key": "string", "kind": "string", "a": "number", "b": "number", "v": "number"}
Opened = Callable[[], AbstractAsyncContextManager[Database]]
OpenedIndex = Callable[[], AbstractAsyncContextManager[IndexAdmin]]


@dataclass(frozen=True, slots=True)
class IndexSubject:
    """An index, and what of the port it leaves out."""

    open: OpenedIndex
    exact: bool = True
    """Applies every filter itself."""
    orders: bool = True
    """Compares revisions."""
    forgets_cursors: bool = False
    """Knows a cursor of a listing for a while only."""
    config: EmbeddingConfig = CONFIG


def cloudflare_client(double: Handle) -> CloudflareClient:
    options = double.double.options
    return CloudflareClient(
        account_id=options.account_id,
        api_token=options.api_token,
        base_url=double.cloudflare_url,
        call_budget=CallBudget(None),
        metrics=Metrics(),
    )


@asynccontextmanager
async def client_of(double: Handle) -> AsyncIterator[CloudflareClient]:
    client = cloudflare_client(double)
    yield client
    await client.close()


@pytest.fixture(scope="session")
def double() -> Iterator[Handle]:
    """A double that shows writes at once and counts no limit: a contract is about something else."""
    with running(DoubleOptions(visibility_seconds=(0.0, 0.0), rate_limit=False)) as handle:
        yield handle


@asynccontextmanager
async def sqlite_database(path: Path) -> AsyncIterator[Database]:
    file = SqliteFile(path)
    yield SqliteDatabase(file)
    await file.close()


@asynccontextmanager
async def d1_database(double: Handle, database_id: str) -> AsyncIterator[Database]:
    async with client_of(double) as client:
        yield D1Database(client, database_id)


@asynccontextmanager
async def coalesced_database(double: Handle, database_id: str) -> AsyncIterator[Database]:
    async with d1_database(double, database_id) as below:
        yield CoalescingDatabase(below)


@asynccontextmanager
async def sqlite_index(path: Path, *, cache_bytes: int) -> AsyncIterator[IndexAdmin]:
    file = SqliteFile(path)
    index = SqliteVectorIndex(file, CONFIG, cache_bytes=cache_bytes)
    await index.prepare()
    yield index
    await file.close()


@asynccontextmanager
async def vectorize_index(double: Handle, config: EmbeddingConfig) -> AsyncIterator[IndexAdmin]:
    async with client_of(double) as client:
        yield VectorizeIndex(client, config, filterable=FILTERABLE)


@asynccontextmanager
async def coalesced_index(double: Handle, config: EmbeddingConfig) -> AsyncIterator[IndexAdmin]:
    async with vectorize_index(double, config) as below:
        yield CoalescingIndex(below)


@pytest.fixture(params=["sqlite", "d1-double", pytest.param("d1-double-coalesced", marks=pytest.mark.thorough)])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Opened]:
    """Each call names another database, which is empty."""
    if request.param == "sqlite":
        return lambda: partial(sqlite_database, tmp_path / f"contract-{uuid4()}.sqlite3")
    double: Handle = request.getfixturevalue("double")
    opened = coalesced_database if request.param.endswith("coalesced") else d1_database
    return lambda: partial(opened, double, double.double.create_database(f"contract-{uuid4()}"))


@pytest.fixture
def open_database(databases: Callable[[], Opened]) -> Opened:
    """Each call opens the same database anew, as another process would."""
    return databases()


@pytest.fixture
def open_other_database(databases: Callable[[], Opened]) -> Opened:
    """Each call opens the same database anew, which is not that of ``open_database``."""
    return databases()


@pytest.fixture
async def database(open_database: Opened) -> AsyncIterator[Database]:
    async with open_database() as database:
        yield database


@pytest.fixture(
    params=[
        *("sqlite", "sqlite-without-memory", "vectorize-double"),
        pytest.param("vectorize-double-coalesced", marks=pytest.mark.thorough),
    ]
)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> IndexSubject:
    """An index whose ``open`` opens the same one anew, as another process would."""
    if request.param.startswith("vectorize-double"):
        double: Handle = request.getfixturevalue("double")
        config = EmbeddingConfig("test", uuid4().hex, CONFIG.dimensions)
        double.double.create_index(config.index_name, config.dimensions, {**SCOPE_TYPES, **FILTERABLE})
        opened = coalesced_index if request.param.endswith("coalesced") else vectorize_index
        return IndexSubject(
            partial(opened, double, config), exact=False, orders=False, forgets_cursors=True, config=config
        )
    cache_bytes = 0 if request.param == "sqlite-without-memory" else 1 << 20
    return IndexSubject(partial(sqlite_index, tmp_path / "contract.sqlite3", cache_bytes=cache_bytes))


@pytest.fixture
def open_index(subject: IndexSubject) -> OpenedIndex:
    return subject.open


@pytest.fixture
async def index(open_index: OpenedIndex) -> AsyncIterator[IndexAdmin]:
    async with open_index() as index:
        yield index
