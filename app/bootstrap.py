"""Settings to a running service. The only module that names concrete adapters."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog
from threadpoolctl import threadpool_limits

from app.adapters.local.hashing import HashingEmbedder
from app.adapters.local.secret_file import local_secrets
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.adapters.local.transformer import TransformerEmbedder, packaged_model_dir
from app.auth import Credentials
from app.errors import ConfigurationError
from app.gateway import Ports
from app.index.outbox import Deliveries
from app.ports.database import Database
from app.retrieval.query_vectors import QueryCache
from app.runtime import Runtime
from app.settings import Settings

_DATABASE_NAME = "memory.sqlite3"


def build_runtime(settings: Settings) -> Runtime:
    """Build the embedded default from the settings; nothing is read or written before ``start``.

    Raises:
        ConfigurationError: the data directory or the model cannot be used as the settings say.
    """
    # Products of this size gain little from a second thread, while BLAS's threads burn processor time waiting
    # for each other and fight with other requests' work. The limit holds for the process.
    threadpool_limits(limits=1, user_api="blas")
    credentials = build_credentials(settings)
    embedder = build_embedder(settings)
    file = _open_file(settings)
    index = SqliteVectorIndex(file, embedder.config, cache_bytes=settings.index_cache_bytes)
    ports = Ports(
        database=SqliteDatabase(file),
        index=index,
        embedder=embedder,
        queries=QueryCache(settings.query_cache_bytes),
        deliveries=Deliveries(),
        clock=wall_clock,
    )
    return Runtime(ports, credentials, prepare_index=index.prepare, closers=[embedder.close, file.close])


def build_credentials(settings: Settings) -> Credentials:
    """Take the configured secrets, or the data directory's own."""
    return Credentials(settings.auth_secrets or local_secrets(_data_dir(settings)))


def build_embedder(settings: Settings) -> TransformerEmbedder | HashingEmbedder:
    """Choose the embedder: the one asked for, or hashing, with a warning, where no weights are present."""
    if settings.embedder == "hashing":
        return HashingEmbedder()
    model_dir = settings.local_model_dir or packaged_model_dir()
    if model_dir is not None:
        return TransformerEmbedder(model_dir)
    structlog.get_logger().warning(
        "no_model_weights",
        effect="memories are found by their words, not by their meaning",
        cure="install deploy/lock/model.txt or set LOCAL_MODEL_DIR",
    )
    return HashingEmbedder()


def open_database(settings: Settings) -> tuple[Database, Callable[[], Awaitable[None]]]:
    """Open the database alone; the second value closes it."""
    file = _open_file(settings)
    return SqliteDatabase(file), file.close


def _open_file(settings: Settings) -> SqliteFile:
    return SqliteFile(_data_dir(settings) / _DATABASE_NAME)


def _data_dir(settings: Settings) -> Path:
    """Return the data directory, which is made where absent."""
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ConfigurationError(f"DATA_DIR {settings.data_dir} is not a directory.") from error
    except OSError as error:
        raise ConfigurationError(f"DATA_DIR {settings.data_dir} cannot be made: {error.strerror}.") from error
    return settings.data_dir


def wall_clock() -> int:
    """Return now in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
