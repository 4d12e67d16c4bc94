"""Carries out erasures chunk by chunk. Crosses tenants; no request imports it."""

from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeAlias

import structlog

from app.domain.embedding import EmbeddingConfig
from app.domain.json_types import Json
from app.indexing.embedding_registry import OpenIndex
from app.indexing.jobs.erase_blobs import BlobEraser
from app.indexing.jobs.erase_snapshots import SnapshotEraser
from app.indexing.jobs.merge_words import DeletedWords
from app.ports.database import Database
from app.ports.object_store import NoObjectStore, ObjectStore
from app.storage.outbox import GRACE_MS
from app.storage.system import erasing
from app.storage.system.erasing import ErasureProgress, RunningErasure

MAX_CHUNK = 500
"""How many memories, or rows of a tier, one run of the database erases."""
MAX_CHUNKS = 8
"""How many chunks of all erasures are erased before the indexer goes on with its other work."""

_DAY_MS = 24 * 3600 * 1000


Moving: TypeAlias = Callable[[], Awaitable[Collection[str]]]
"""Reads the tenants that are moved from one shard to another, of which both may have rows."""


async def nobody_moves() -> Collection[str]:
    """Return no tenant: there is no other database to move to."""
    return ()


class Eraser:
    """Erases the rows first, and writes the receipt once their vectors and their words are known to be gone."""

    def __init__(
        self,
        database: Database,
        index_of: OpenIndex,
        objects: ObjectStore | None = None,
        moving: Moving = nobody_moves,
    ) -> None:
        """Take the database, the functions that open a config's index and read who moves, and the object store."""
        objects = objects or NoObjectStore()
        self._database = database
        self._moving = moving
        self._index_of = index_of
        self._blobs = BlobEraser(database, objects)
        self._snapshots = SnapshotEraser(database, objects)
        self._words = DeletedWords(database)

    async def advance(self, erasures: Sequence[RunningErasure], configs: Collection[EmbeddingConfig]) -> None:
        """Advance erasures as far as they get now, a chunk of each in turn.

        Every statement can be repeated at any point: an erased row is not counted a second time.

        Args:
            erasures: The erasures whose turn has come, in the order of their turns.
            configs: The embedding configs whose indexes hold the vectors.

        Raises:
            Unavailable: the database or the index does not answer; the next call continues.
        """
        grace_ms = max((self._index_of(config).removal_grace_ms for config in configs), default=GRACE_MS)
        waiting = deque(erasures)
        ended: dict[str, tuple[RunningErasure, ErasureProgress]] = {}
        for _ in range(MAX_CHUNKS):
            if not waiting:
                break
            erasure = waiting.popleft()
            if await self._erase_chunk(erasure, grace_ms, ended):
                waiting.append(erasure)
        await self._finish(ended)

    async def _erase_chunk(
        self, erasure: RunningErasure, grace_ms: int, ended: dict[str, tuple[RunningErasure, ErasureProgress]]
    ) -> bool:
        """Erase one chunk; return whether more is to be erased now. Add an erasure that has nothing left to ``ended``.

        The objects go first: no row that names an object may go before it, whichever statement deletes the row.
        """
        for objects in (self._snapshots, self._blobs):
            more = await objects.advance(erasure)
            if more or more is None:
                return bool(more)
        progress, configs = erasing.read_progress(
            await self._database.run(erasing.erase_chunk(erasure, MAX_CHUNK, grace_ms=grace_ms)),
        )
        if not progress.more and progress.tier is not None:
            chunk = erasing.erase_tier(erasure, progress.tier, MAX_CHUNK)
            progress, configs = erasing.read_progress(await self._database.run(chunk))
        if progress.more or progress.tier is not None or progress.queued:
            return progress.more or progress.tier is not None
        strays = [await self._queue_strays(erasure, config) for config in configs]
        if not any(strays):
            ended[erasure.id] = erasure, progress
        return False

    async def _queue_strays(self, erasure: RunningErasure, config: EmbeddingConfig) -> bool:
        """Queue the removal of vectors that a search still finds though no row names them; return whether any exist."""
        index = self._index_of(config)
        ids = await index.sample(erasure.tenant_id, erasure.agent_id)
        if not ids:
            return False
        agents = {id_: found.scope.agent_id for id_, found in (await index.held(ids)).items()}
        await self._database.run([erasing.queue_strays(erasure, config.index_name, agents)])
        return True

    async def _finish(self, ended: Mapping[str, tuple[RunningErasure, ErasureProgress]]) -> None:
        """Write the receipts of erasures that have ended, once the index of words and the log have nothing of them.

        Where the tenant is moved, another shard may have copies of its rows: the receipt waits for the end of the move.
        """
        moving = await self._moving() if ended else ()
        ended = {id_: each for id_, each in ended.items() if each[0].tenant_id not in moving}
        if not ended:
            return
        gone = await self._words.gone_of(ended)
        if not gone or not await self._database.purge_log():
            return
        for erasure, progress in (ended[id_] for id_ in ended if id_ in gone):
            await self._write_receipt(erasure, progress)
            self._words.forget(erasure.id)

    async def _write_receipt(self, erasure: RunningErasure, progress: ErasureProgress) -> None:
        days = self._database.history_days
        erased: dict[str, Json] = {**progress.counts}
        receipt: Json = {
            "finished_at": progress.now,
            "erased": erased,
            "found_by_id": 0,
            "found_by_search": 0,
            "history_until": progress.now + days * _DAY_MS if days else None,
        }
        await self._database.run(erasing.finish(erasure, receipt))
        structlog.get_logger().info("erased", erasure=erasure.id, **progress.counts)
