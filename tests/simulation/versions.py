"""Replicas of several versions over one database: a newer one migrates it while the others serve."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from app.domain.embedding import EmbeddingConfig
from app.domain.errors import SchemaTooNew
from app.indexing.jobs.findings import Findings
from app.observability.metrics import Metrics
from app.ports.database import Database, Row, Statement
from app.runtime.runtime import Runtime
from app.services.access.credentials import Credentials
from app.services.ingest.ingester import Ingester
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.profiles.profile import ProfileService
from app.storage.migrations.runner import Migration, known_migrations
from tests.simulation.intercept import Between, Effect, PortCall
from tests.simulation.killer import KilledError
from tests.simulation.places import seen
from tests.simulation.world import Replica, World, world_of
from tests.support.gateways import ADMINISTRATOR
from tests.support.service import SECRETS

T = TypeVar("T")

_HERE = known_migrations()


def _migration(name: str, change: str, oldest: str) -> Migration:
    row = f"INSERT INTO schema_compatibility (name, oldest) VALUES ('{name}', '{oldest}')"
    return Migration(name, (change, row))


_EXPANDS = _migration("9998_expands.sql", "ALTER TABLE long_term_memory ADD COLUMN later TEXT", _HERE[-1].name)
"""The first version may run beside it."""
_CONTRACTS = _migration("9999_contracts.sql", "ALTER TABLE long_term_memory DROP COLUMN former", _EXPANDS.name)
"""It takes away what the first version reads, and what the second one does without."""
KNOWN: Sequence[Sequence[Migration]] = (_HERE, (*_HERE, _EXPANDS), (*_HERE, _EXPANDS, _CONTRACTS))
"""The migrations that each version knows; all have the same code else."""
FIRST, SECOND, THIRD = range(len(KNOWN))

_KILLS_SECONDS = 30.0
_ABOUT_THE_SCHEMA = {"schema_version", "_older_version", "_apply"}


@dataclass(slots=True)
class Life:
    """Whether a process lives: of one that is gone nothing goes on, not even its ``finally`` clauses."""

    over: bool = False

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        del call
        self._check()
        answer = await effect()
        self._check()
        return answer

    def _check(self) -> None:
        if self.over:
            raise asyncio.CancelledError


@dataclass(frozen=True, slots=True)
class _Reads:
    """A database of the first version's code, which reads the former column whenever it works with the data."""

    inner: Database

    @property
    def backend(self) -> str:
        return self.inner.backend

    @property
    def history_days(self) -> int:
        return self.inner.history_days

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        if seen() in _ABOUT_THE_SCHEMA:
            return await self.inner.run(statements)
        reads = Statement.read("SELECT former FROM long_term_memory LIMIT 0")
        return (await self.inner.run([*statements, reads]))[:-1]

    async def ping(self) -> None:
        await self.inner.ping()

    async def purge_log(self) -> bool:
        return await self.inner.purge_log()


class _OfRequest:
    """A service that each call gets from the runtime, as each request does."""

    def __init__(self, replica: "Served", tenant_id: str, service: str) -> None:
        self._replica = replica
        self._tenant_id = tenant_id
        self._service = service

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*given: Any, **named: Any) -> Any:
            services = self._replica.runtime.services(self._tenant_id, ADMINISTRATOR)
            try:
                return await getattr(getattr(services, self._service), name)(*given, **named)
            except asyncio.CancelledError:
                if self._replica.life.over:
                    raise KilledError from None
                raise

        return call


@dataclass(slots=True)
class Served(Replica):
    """One process with all that a service does in the background."""

    version: int = FIRST
    runtime: Runtime = field(kw_only=True)
    life: Life = field(kw_only=True)

    @property
    def is_too_old(self) -> bool:
        return isinstance(self.runtime.not_ready, SchemaTooNew)

    def gateway(self, tenant_id: str) -> LongTermMemoryGateway:
        return _OfRequest(self, tenant_id, "gateway")  # type: ignore[return-value]

    def profile(self, tenant_id: str) -> ProfileService:
        return _OfRequest(self, tenant_id, "profiles")  # type: ignore[return-value]

    def ingester(self, tenant_id: str) -> Ingester:
        return _OfRequest(self, tenant_id, "ingester")  # type: ignore[return-value]

    async def reconcile(self, *, repair: bool) -> Findings:
        if self.runtime.not_ready is not None:
            raise self.runtime.not_ready
        return await Replica.reconcile(self, repair=repair)

    def start(self) -> None:
        self.work = asyncio.create_task(self._start(), name=self.name)

    async def _start(self) -> None:
        with suppress(SchemaTooNew):  # the process ends
            await self.runtime.start()

    async def stop(self) -> None:
        """End as a process that is killed does."""
        self.life.over = True
        if self.work is not None:
            self.work.cancel()
        with suppress(asyncio.CancelledError):
            await self.runtime.close()


@dataclass(slots=True)
class VersionedWorld(World):
    """What replicas of several versions share."""

    fleet: list[int] = field(default_factory=list)
    """The version of each replica that is wanted; whichever is lacking is begun."""
    breaks: bool = False
    """Whether the first version reads what the third one takes away."""

    @property
    def served(self) -> list[Served]:
        return [each for each in self.replicas if isinstance(each, Served)]

    def of(self, version: int) -> list[Served]:
        return [each for each in self.served if each.version == version]

    def replica(self, *between: Between) -> Served:
        (version, *_) = (Counter(self.fleet) - Counter(each.version for each in self.served)).elements()
        life = Life()
        plain = World.replica(self, life, *between)
        reads = version == FIRST and self.breaks
        database = _Reads(plain.backends.database) if reads else plain.backends.database
        runtime = Runtime(
            replace(plain.backends, database=database, migrations=KNOWN[version]),
            Credentials(SECRETS),
            Metrics(),
            name=plain.name,
            prepare_index=_is_prepared,
        )
        replica = Served(
            plain.name,
            runtime.backends,
            runtime.indexer,
            self.pause_seconds,
            version=version,
            runtime=runtime,
            life=life,
        )
        self.replicas[-1] = replica
        return replica

    def want(self, *versions: int) -> None:
        """Begin what is lacking of these versions."""
        self.fleet = list(versions)
        for _ in range(len(versions) - len(self.served)):
            self.replica().start()

    async def ready(self, version: int) -> None:
        """Return once a replica of this version serves."""
        while not any(each.runtime.not_ready is None for each in self.of(version)):
            await asyncio.sleep(0.1)


async def _is_prepared(config: EmbeddingConfig) -> None:
    del config


@asynccontextmanager
async def versioned_world(seed: int, *, breaks: bool) -> AsyncIterator[VersionedWorld]:
    """Make a world that the first version has migrated."""
    async with world_of(VersionedWorld, "late", seed) as made:
        made.breaks = breaks
        made.file.connection.execute("ALTER TABLE long_term_memory ADD COLUMN former TEXT")
        yield made


async def kill_some(world: VersionedWorld) -> None:
    """Kill a process now and then; another one of its version begins, until cancelled."""
    while True:
        await asyncio.sleep(world.random.expovariate(1 / _KILLS_SECONDS))
        killed = world.random.choice(world.served)
        world.trace.note("killed", killed.name)
        world.counts["killed"] += 1
        world.replicas.remove(killed)
        await killed.stop()
        world.want(*world.fleet)
