"""The adapters every contract is held against. A new adapter joins by a factory of its own."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.model import EmbeddingConfig
from app.ports.database import Database
from app.ports.vector_index import VectorIndex

CONFIG = EmbeddingConfig("test", "eight", 8)
Opened = Callable[[], AbstractAsyncContextManager[Database]]
OpenedIndex = Callable[[], AbstractAsyncContextManager[VectorIndex]]


@asynccontextmanager
async def sqlite_database(folder: Path) -> AsyncIterator[Database]:
    file = SqliteFile(folder / "contract.sqlite3")
    yield SqliteDatabase(file)
    await file.close()


@asynccontextmanager
async def sqlite_index(folder: Path, *, cache_bytes: int = 1 << 20) -> AsyncIterator[VectorIndex]:
    file = SqliteFile(folder / "contract.sqlite3")
    index = SqliteVectorIndex(file, CONFIG, cache_bytes=cache_bytes)
    await index.prepare()
    yield index
    await file.close()


@asynccontextmanager
async def sqlite_index_without_memory(folder: Path) -> AsyncIterator[VectorIndex]:
    async with sqlite_index(folder, cache_bytes=0) as index:
        yield index


@pytest.fixture(params=[sqlite_database], ids=lambda factory: factory.__name__)
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Each call opens the same database anew, as another process would."""
    return lambda: request.param(tmp_path)


@pytest.fixture
async def database(open_database: Opened) -> AsyncIterator[Database]:
    async with open_database() as database:
        yield database


@pytest.fixture(params=[sqlite_index, sqlite_index_without_memory], ids=lambda factory: factory.__name__)
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> OpenedIndex:
    """Each call opens the same index anew, as another process would."""
    return lambda: request.param(tmp_path)


@pytest.fixture
async def index(open_index: OpenedIndex) -> AsyncIterator[VectorIndex]:
    async with open_index() as index:
        yield index
