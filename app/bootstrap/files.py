"""The files of the embedded default, in DATA_DIR."""

from pathlib import Path

import structlog

from app.adapters.local.database_place import lost, missing, open_to_others
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.errors import ConfigurationError
from app.domain.shards import Shard
from app.settings import Settings

DATABASE_FILE = "memory.sqlite3"
SHARDS_FOLDER = "shards"
BLOBS_FOLDER = "blobs"


def open_file(settings: Settings, shard: Shard | None = None, *, bulk: bool = False) -> SqliteFile:
    """Open the file of a shard; the file of a shard beside the first has to exist. ``bulk`` is as for ``SqliteFile``.

    Raises:
        ConfigurationError: the file does not exist, or the first shard's file existed and is missing now: its memories
            would seem to be gone. The error of a shard beside the first names no folder of this machine, since everyone
            may read it in the readiness.
    """
    path = data_dir(settings) / DATABASE_FILE
    if shard is None:
        _check_there(path)
    else:
        path = shard_file(settings, shard.name)
        if not path.exists() or not path.stat().st_size:
            structlog.get_logger().error("shard_file_missing", shard=shard.name, path=str(path))
            raise ConfigurationError(f"The file {SHARDS_FOLDER}/{path.name} of DATA_DIR is missing or empty.")
    if reachable := open_to_others(path):
        structlog.get_logger().warning("data_open_to_others", reachable=reachable)
    return SqliteFile(path, bulk=bulk)


def _check_there(path: Path) -> None:
    """Refuse a missing database that existed before, as the other files of its folder tell.

    Raises:
        ConfigurationError: the database existed and is missing now.
    """
    others = (path.parent / SHARDS_FOLDER, path.parent / BLOBS_FOLDER)
    reason = missing(path)
    if reason is None and not path.exists() and any(folder.is_dir() and any(folder.iterdir()) for folder in others):
        reason = f"is missing beside {' and '.join(folder.name for folder in others if folder.is_dir())}"
    if reason is not None:
        error = lost(path, reason)
        raise ConfigurationError(f"{error.detail} The folder is {path.parent}.")


def shard_file(settings: Settings, name: str) -> Path:
    """Return the path of a shard's file on the embedded default; the folder is made where it is absent."""
    folder = data_dir(settings) / SHARDS_FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{name}.sqlite3"


def data_dir(settings: Settings) -> Path:
    """Return the data directory, which is made where it is absent."""
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ConfigurationError(f"DATA_DIR {settings.data_dir} is not a directory.") from error
    except OSError as error:
        raise ConfigurationError(f"DATA_DIR {settings.data_dir} cannot be made: {error.strerror}.") from error
    return settings.data_dir
