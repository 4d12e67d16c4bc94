"""A world of two shards: processes with places of their own."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import ulid

from app.adapters.local.sqlite_database import SqliteDatabase
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import TenantMoved
from app.domain.shards import MAIN, Shard
from app.indexing.indexer import Indexer
from app.observability.metrics import Metrics
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin
from app.runtime.backends import Backends
from app.runtime.places import Places
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.services.access.credentials import Credentials
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.profiles.profile import ProfileService
from app.services.tenant.caches import TenantCaches
from app.services.tenant.tenant_cache import TenantCache
from tests.simulation import clock
from tests.simulation import world as worlds
from tests.simulation.database import InlineFile
from tests.simulation.embedder import CONFIG, DigestEmbedder
from tests.simulation.intercept import (
    Between,
    Chain,
    InterceptedDatabase,
    InterceptedEmbedder,
    InterceptedIndex,
)
from tests.simulation.killer import KilledError
from tests.simulation.network import Network
from tests.simulation.trace import Trace
from tests.simulation.world import Kind, Replica, World
from tests.support import migrated
from tests.support.gateways import ADMINISTRATOR
from tests.support.service import SECRETS
from tests.support.tables import Asked

EAST = "east"


class BothFiles:
    """What both databases hold, past every port."""

    def __init__(self, files: dict[str, InlineFile]) -> None:
        self._files = files

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        return [row for file in self._files.values() for row in file.rows(sql)]

    def rows_of(self, table: str, *columns: str, by: str = "", **where: Asked) -> list[tuple[Any, ...]]:
        return [row for file in self._files.values() for row in file.rows_of(table, *columns, by=by, **where)]

    def column_of(self, table: str, column: str, *, by: str = "", **where: Asked) -> list[Any]:
        return [value for (value,) in self.rows_of(table, column, by=by, **where)]

    async def close(self) -> None:
        for file in self._files.values():
            await file.close()


@dataclass(slots=True)
class ShardedReplica(Replica):
    """One process: a runtime for each shard, and what it knows of the directory."""

    shards: Shards | None = None

    def gateway(self, tenant_id: str) -> LongTermMemoryGateway:
        return _Routed(self.shards, tenant_id, LongTermMemoryGateway)  # type: ignore[return-value]

    def profile(self, tenant_id: str) -> ProfileService:
        return _Routed(self.shards, tenant_id, ProfileService)  # type: ignore[return-value]


class _Routed:
    """A service of the shard where its tenant lives, which a request asks once more where it has moved."""

    def __init__(self, shards: Any, tenant_id: str, make: Callable[[Any], Any]) -> None:
        self._shards = shards
        self._tenant_id = tenant_id
        self._make = make

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*given: Any, **named: Any) -> Any:
            try:
                return await getattr(await self._service(), name)(*given, **named)
            except TenantMoved as moved:
                if not moved.repeatable:
                    raise
            return await getattr(await self._service(), name)(*given, **named)

        return call

    async def _service(self) -> Any:
        runtime = await self._shards.of(self._tenant_id)
        return self._make(runtime.backends.of_tenant(self._tenant_id, ADMINISTRATOR))


class _Scales(worlds.Scales):
    async def find(self, config: EmbeddingConfig, embedder: Embedder) -> None:
        del config, embedder


@dataclass(slots=True)
class ShardedWorld(World):
    """What all processes share."""

    files: dict[str, InlineFile] = field(default_factory=dict)
    indexes: dict[str, IndexAdmin] = field(default_factory=dict)

    async def process(self, *between: Between) -> ShardedReplica:
        """Begin a process whose indexers work only when told to."""
        self._begun += 1
        name = f"replica-{self._begun}"
        chain = Chain([*between, self.network])
        places = Places(InterceptedDatabase(SqliteDatabase(self.files[MAIN]), chain))

        def runtime(shard: str) -> Runtime:
            database = InterceptedDatabase(SqliteDatabase(self.files[shard]), chain)
            backends = Backends(
                database=database,
                index=InterceptedIndex(self.indexes[shard], chain),
                embedder=InterceptedEmbedder(DigestEmbedder(), chain),
                caches=TenantCaches(TenantCache(1_000_000)),
                clock=clock.now_ms,
                scales=_Scales(database),
                shard=shard,
                presence=places.presence(shard),
                shards_seen=places.seen if shard == MAIN else lambda _: None,
            )
            return Runtime(backends, Credentials(SECRETS), Metrics(), name=name, prepare_index=_is_prepared)

        def open_shard(shard: Shard) -> Runtime:
            return runtime(shard.name)

        shards = Shards(runtime(MAIN), places, open_shard)
        await shards.prepare()
        main = shards.main
        return ShardedReplica(name, main.backends, main.indexer, self.pause_seconds, None, shards)

    def of(self, shard: str) -> World:
        """Return what there is of one shard."""
        return replace(self, file=self.files[shard], index=self.indexes[shard])


async def _is_prepared(config: EmbeddingConfig) -> None:
    del config


@asynccontextmanager
async def sharded_world(kind: Kind, seed: int) -> AsyncIterator[ShardedWorld]:
    """Make a world with a first and a second shard, in which the seed decides everything."""
    seeded = random.Random(seed)
    trace = Trace()
    files = {name: InlineFile(clock.now_ms) for name in (MAIN, EAST)}
    for file in files.values():
        migrated.load(file.connection)
    files[MAIN].insert_row("shards", {"name": EAST, "added_at": 0})
    indexes = {name: await worlds.index_of(kind, file, seeded, CONFIG) for name, file in files.items()}
    made = ShardedWorld(
        kind,
        seeded,
        trace,
        Network(seeded, trace),
        BothFiles(files),  # type: ignore[arg-type]
        indexes[MAIN],
        indexes[MAIN],
        1.0,
        files=files,
        indexes=indexes,
    )
    ids = ulid.ULIDGenerator(randomness=lambda _: seeded.randbytes(10), policy=ulid.PureRandomPolicy())
    with patch.object(ulid, "default_generator", ids):
        worlds.quiet_log()
        try:
            yield made
        finally:
            with suppress(KilledError):
                await made.shut()


def indexer_of(replica: ShardedReplica, shard: str) -> Indexer:
    assert replica.shards is not None
    return replica.shards.runtimes[shard].indexer


async def home_of(replica: ShardedReplica, tenant_id: str) -> str:
    assert replica.shards is not None
    return (await replica.shards.of(tenant_id)).backends.shard
