"""One simulation: the replicas, what they share, and how it stands in the end."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar
from unittest.mock import patch

import structlog
import ulid

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.domain.embedding import USUAL_SCALE, CosineScale, EmbeddingConfig
from app.indexing.cosine_scales import CosineScales
from app.indexing.delivery import Acknowledgements, Deliveries
from app.indexing.embedding_registry import EmbeddingRegistry
from app.indexing.indexer import Indexer
from app.indexing.jobs.findings import Findings
from app.indexing.jobs.reconcile import Reconcile
from app.indexing.rate_limiter import RateLimiter
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin
from app.ports.reader import Reader
from app.runtime.backends import Backends
from app.runtime.relating import read_left_over, relating
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.profiles.profile import ProfileService
from app.services.tenant.caches import TenantCaches
from app.services.tenant.tenant_cache import TenantCache
from tests.simulation import clock
from tests.simulation.circuits import Circuits
from tests.simulation.database import InlineFile
from tests.simulation.embedder import CONFIG, OTHER, DigestEmbedder
from tests.simulation.index import LateIndex
from tests.simulation.intercept import Between, Chain, InterceptedDatabase, InterceptedEmbedder, InterceptedIndex
from tests.simulation.network import Network
from tests.simulation.trace import Trace
from tests.support import migrated
from tests.support.gateways import ADMINISTRATOR

Kind: TypeAlias = Literal["late", "embedded"]
"""Which index: one that shows writes late, or the embedded one."""

_PAUSES_SECONDS = (1.0, 5.0, 15.0)
"""Between an indexer's rounds: a brisk one has more to do with requests at work, a slow one leaves more undone."""
MAX_SKEW_MS = 2_000
"""How far a clock is off, at most."""
_CALLS_PER_MINUTE = 120
_CACHE_BYTES = 1_000_000
_LONGEST_SECONDS = 24 * 3600.0


class _EmbeddedIndex(SqliteVectorIndex):
    """The real one, on virtual time."""

    async def watermark(self) -> int:
        return clock.now_ms()


@dataclass(slots=True)
class Replica:
    """One process: its ports, its marks and its indexer."""

    name: str
    backends: Backends
    indexer: Indexer
    pause_seconds: float
    work: asyncio.Task[None] | None = None

    def gateway(self, tenant_id: str) -> LongTermMemoryGateway:
        return LongTermMemoryGateway(self.backends.of_tenant(tenant_id, ADMINISTRATOR))

    def profile(self, tenant_id: str) -> ProfileService:
        return ProfileService(self.backends.of_tenant(tenant_id, ADMINISTRATOR))

    async def reconcile(self, *, repair: bool) -> Findings:
        """Compare the index with the database, as the command does."""
        comparison = Reconcile(
            self.backends.database,
            self.backends.index,
            self.backends.embedder,
            holder=self.name,
            rate_limiter=RateLimiter(_CALLS_PER_MINUTE),
            repair=repair,
            report=lambda _: None,
        )
        return await comparison.run()

    def start(self) -> None:
        self.work = asyncio.create_task(self.indexer.run(self.pause_seconds), name=self.name)

    async def compare(self) -> None:
        """Compare all memories that wait for the reader."""
        assert self.backends.reader is not None
        job = relating(self.backends, self.backends.reader)
        while await read_left_over(job):
            pass

    async def stop(self) -> None:
        """End the indexer, and the deliveries, as a process that is killed does: nothing is written any more."""
        await self.backends.deliveries.close(0)
        if self.work is not None:
            self.work.cancel()
            with suppress(asyncio.CancelledError):
                await self.work
            self.work = None


class Scales(CosineScales):
    """Measures nothing: what a replica calls is what its requests and its indexer call."""

    def of(self, config: EmbeddingConfig, embedder: Embedder) -> CosineScale:
        del config, embedder
        return USUAL_SCALE


@dataclass(slots=True)
class World:
    """What all replicas share. Everything random in it comes from ``random``."""

    kind: Kind
    random: random.Random
    trace: Trace
    network: Network
    file: InlineFile
    index: IndexAdmin
    other_index: IndexAdmin
    """Of another embedding config, for data that moves."""
    pause_seconds: float
    replicas: list[Replica] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """How often each thing happened: a simulation in which nothing goes wrong proves nothing."""
    reader: Reader | None = None
    """What compares memories, where anything does; the replicas that begin later have it."""
    _begun: int = 0
    _number: int = 0

    def next_number(self) -> int:
        """Return a number that nothing else in this world has."""
        self._number += 1
        return self._number

    def replica(self, *between: Between) -> Replica:
        """Begin a process, its clock a little off; ``between`` sees its calls before the network does."""
        self._begun += 1
        name = f"replica-{self._begun}"
        skew = self.random.randint(-MAX_SKEW_MS, MAX_SKEW_MS)
        chain = Chain([*between, Circuits(self.counts), self.network])
        database = InterceptedDatabase(SqliteDatabase(self.file), chain)
        index = InterceptedIndex(self.index, chain)
        acknowledgements = Acknowledgements()
        backends = Backends(
            database=database,
            index=index,
            embedder=InterceptedEmbedder(DigestEmbedder(), chain),
            caches=TenantCaches(TenantCache(_CACHE_BYTES)),
            deliveries=Deliveries(acknowledgements),
            clock=lambda: clock.now_ms() + skew,
            scales=Scales(database),
            reader=self.reader,
            registry=EmbeddingRegistry(
                lambda config: _other_only(config, InterceptedIndex(self.other_index, chain)),
                lambda _: InterceptedEmbedder(DigestEmbedder(OTHER), chain),
            ),
        )
        indexer = Indexer(database, backends.index_of, acknowledgements, holder=name)
        replica = Replica(name, backends, indexer, self.pause_seconds)
        self.replicas.append(replica)
        return replica

    async def delivered(self) -> None:
        """Return once no index write of an answered request is under way."""
        for replica in self.replicas:
            await replica.backends.deliveries.settle()

    async def shut(self) -> None:
        for replica in self.replicas:
            await replica.stop()
        await self.network.settled()
        await self.file.close()


W = TypeVar("W", bound=World)


@asynccontextmanager
async def world(kind: Kind, seed: int) -> AsyncIterator[World]:
    """Make a world, migrated and without faults yet, in which the seed decides everything."""
    async with world_of(World, kind, seed) as made:
        yield made


@asynccontextmanager
async def world_of(make: type[W], kind: Kind, seed: int) -> AsyncIterator[W]:
    """Make such a world of this type."""
    seeded = random.Random(seed)
    trace = Trace()
    file = InlineFile(clock.now_ms)
    migrated.load(file.connection)
    index = await index_of(kind, file, seeded, CONFIG)
    other = await index_of(kind, file, random.Random(seed), OTHER)
    made = make(kind, seeded, trace, Network(seeded, trace), file, index, other, _PAUSES_SECONDS[seed % 3])
    ids = ulid.ULIDGenerator(randomness=lambda _: seeded.randbytes(10), policy=ulid.PureRandomPolicy())
    with patch.object(ulid, "default_generator", ids):
        random.seed(seed)  # should the product ever roll dice
        quiet_log()
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                yield made
        finally:
            await made.shut()


def _other_only(config: EmbeddingConfig, index: IndexAdmin) -> IndexAdmin:
    assert config == OTHER
    return index


async def index_of(kind: Kind, file: InlineFile, seeded: random.Random, config: EmbeddingConfig) -> IndexAdmin:
    if kind == "late":
        skew = seeded.randint(-MAX_SKEW_MS, MAX_SKEW_MS)
        filterable = seeded.choice((frozenset(), frozenset({"shade"})))
        return LateIndex(config, _skewed(skew), seeded, filterable=filterable)
    index = _EmbeddedIndex(file, config, cache_bytes=_CACHE_BYTES)
    await index.prepare()
    return index


def _skewed(milliseconds: int) -> Callable[[], int]:
    return lambda: clock.now_ms() + milliseconds


def quiet_log() -> None:
    """Keep what the product logs of the faults it is given out of the way, at no cost."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(50), logger_factory=structlog.ReturnLoggerFactory()
    )
