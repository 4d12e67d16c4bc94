"""The database and the indexes of one shard."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.adapters.coalescing.database import CoalescingDatabase
from app.adapters.coalescing.index import CoalescingIndex
from app.adapters.local.processes import LockedProcesses
from app.adapters.local.shared_blocks import SharedBlocks
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.bootstrap.account import Close, ProcessAccount, shard_database_id
from app.domain.embedding import EmbeddingConfig
from app.domain.shards import Shard
from app.ports.database import Database
from app.ports.index_admin import IndexAdmin
from app.ports.processes import Processes, UnknownProcesses
from app.runtime.background import Pace
from app.settings import Settings

_METERED = Pace(
    indexer_seconds=15.0,
    look_again_seconds=30.0,
    windows_seconds=300.0,
    words_seconds=600.0,
    relations_seconds=600.0,
    gather_seconds=0.7,
)
"""The pace on Cloudflare, where every call counts."""


@dataclass(frozen=True, slots=True)
class Stack:
    """The database and the indexes of one shard, and how to close them."""

    database: Database
    stored_bytes: Callable[[], Awaitable[int]]
    open_index: Callable[[EmbeddingConfig], IndexAdmin]
    prepare_index: Callable[[EmbeddingConfig], Awaitable[None]]
    close: Close
    processes: Callable[[str], Processes]
    """Makes the register of the processes that use the shard's data, for a process of this name."""
    pace: Pace
    check_room: Callable[[], Awaitable[None]] | None = None
    """Raises ``StorageFull`` where the database cannot grow; None where this cannot be told beforehand."""
    limited: bool = True
    """Whether D1's and Vectorize's limits hold for the shard."""
    version: Callable[[], object | None] = lambda: None
    """Returns a value that stays the same while nobody writes to the shard; None where this cannot be told at once."""


def local_stack(settings: Settings, file: SqliteFile) -> Stack:
    """Return the stack of a shard's file; closing the stack closes the file, and lets go of shared vectors."""
    blocks = SharedBlocks(file.path, shares=settings.several_workers)

    def open_index(config: EmbeddingConfig) -> SqliteVectorIndex:
        return SqliteVectorIndex(file, config, cache_bytes=settings.index_cache_bytes, shared=blocks)

    async def prepare_index(config: EmbeddingConfig) -> None:
        blocks.sweep()  # workers that were killed may have left vectors, and this may be one process alone
        await open_index(config).prepare()

    async def close() -> None:
        await file.close()
        blocks.close()

    return Stack(
        database=SqliteDatabase(file),
        stored_bytes=file.stored_bytes,
        open_index=open_index,
        prepare_index=prepare_index,
        close=close,
        processes=partial(LockedProcesses, file.path.with_name(f"{file.path.name}-processes")),
        pace=Pace(),
        check_room=file.check_room,
        limited=False,
        version=file.version.read,
    )


def cloudflare_stack(settings: Settings, account: ProcessAccount, shard: Shard | None = None) -> Stack:
    """Open the database and the indexes of a shard or, where no shard is given, of the settings."""
    database_id, client = shard_database_id(settings, shard), account.client
    database = D1Database(client, database_id, reads=settings.cloudflare_d1_reads)

    def open_index(config: EmbeddingConfig) -> VectorizeIndex:
        name = None if shard is None else config.index_name_in(shard.name)
        return VectorizeIndex(
            client,
            config,
            filterable=settings.filterable_metadata,
            name=name,
            query_seconds=settings.recall_part_seconds,
        )

    async def left_open() -> None:
        """Close nothing: the first shard closes the client."""

    async def prepare_index(config: EmbeddingConfig) -> None:
        index = open_index(config)
        await client.check_bindings(database_id, index.name)
        await index.check()

    return Stack(
        database=CoalescingDatabase(database, account.metering),
        stored_bytes=database.stored_bytes,
        open_index=lambda config: CoalescingIndex(open_index(config), account.metering),
        prepare_index=prepare_index,
        close=client.close if shard is None else left_open,
        processes=UnknownProcesses,
        pace=_METERED,
    )
