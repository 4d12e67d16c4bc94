"""Reports and frees room in the files of the embedded default."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from app.adapters.local.vacuum import FileRoom, Vacuumed, file_room, vacuum
from app.bootstrap.databases import read_shards
from app.bootstrap.files import DATABASE_FILE, data_dir, shard_file
from app.domain.errors import ConfigurationError
from app.domain.shards import MAIN
from app.settings import Settings


async def vacuum_files(settings: Settings) -> Mapping[str, Vacuumed]:
    """Write the file of each shard anew without free room; return the result for each, by the shards' names.

    Raises:
        ConfigurationError: there is no database yet.
        Conflict: another process has a file open.
        StorageFull: there is no room to write a file anew.
        DatabaseUnavailable: a file cannot be read or written.
    """
    return {name: await asyncio.to_thread(vacuum, path) for name, path in (await database_files(settings)).items()}


async def file_rooms(settings: Settings) -> Mapping[str, FileRoom]:
    """Return how much of the file of each shard is free, by the names of the shards that have one.

    Raises as ``vacuum_files`` does.
    """
    files = {name: path for name, path in (await database_files(settings)).items() if path.exists()}
    return {name: await asyncio.to_thread(file_room, path) for name, path in files.items()}


async def database_files(settings: Settings) -> Mapping[str, Path]:
    """Return the file of each shard, by the shards' names; raises ``ConfigurationError`` where there is none yet."""
    main = data_dir(settings) / DATABASE_FILE
    if not main.exists():
        raise ConfigurationError(f"There is no database in {main.parent} yet.")
    shards = await read_shards(settings)
    return {MAIN: main} | {shard.name: shard_file(settings, shard.name) for shard in shards}
