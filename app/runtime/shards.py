"""Gives each request the runtime of the shard where its tenant lives. A process has one runtime for each shard."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import structlog

from app.domain.acts import DEPLOYMENT, PURPOSE
from app.domain.errors import InvalidRequest, ShardUnavailable, Unavailable
from app.domain.shards import MAIN, Place, Shard, is_shard_name
from app.observability.metrics import REFRESH_SECONDS
from app.runtime.acts import WRITE_SECONDS, LateActs
from app.runtime.checks import PartState
from app.runtime.fullness import Fullness
from app.runtime.openings import Openings, OpenShard
from app.runtime.periodic import PeriodicWork, attempt, stop
from app.runtime.places import Places
from app.runtime.runtime import Runtime
from app.services.access.acting import RunStatements
from app.storage.system import directory

_MAX_HOPS = 5


class Shards:
    """The runtimes of all shards. Work over all tenants is done in each of them.

    A shard that cannot be used affects its own tenants alone. Shards that are added while the process lives are opened
    when a request first learns of them.
    """

    def __init__(self, main: Runtime, places: Places | None = None, open_shard: OpenShard | None = None) -> None:
        """Take the runtime of the first shard, the copy of the directory, and the function that opens other shards."""
        self.main = main
        self.places = places or Places(main.backends.database)
        self.open_shard = open_shard
        self._openings = Openings(main, open_shard)
        self._loading = asyncio.Lock()
        self._every = True
        self._background: Sequence[asyncio.Task[None]] = ()
        self.fullness = Fullness(self.main, self.runtimes.values)
        self.late_acts = LateActs(main.name, main.backends.clock, lambda: self.act_keys()[0])
        """What is written behind of administrative acts."""

    @property
    def runtimes(self) -> Mapping[str, Runtime]:
        """The runtimes by the names of their shards, the first one first."""
        return self._openings.runtimes

    async def prepare(self, *, every: bool = True) -> None:
        """Prepare the shards for a command, without background work; shards beside the first may fail.

        Without ``every``, a shard beside the first is opened only when it is needed: on Cloudflare that takes calls.

        Raises:
            MemoryGatewayError: the first shard cannot be used.
        """
        self._openings.start, self._every = Runtime.prepare, every
        await self.main.prepare()
        await self._open_every()

    async def start(self) -> None:
        """Prepare every shard and start its background work; data that cannot be reached is waited for.

        Raises:
            SchemaTooNew: the data of the first shard belongs to a newer version.
        """
        await self.main.start()
        try:
            await self._open_every()
        except Unavailable as error:  # the next request tries again
            structlog.get_logger().warning("shards_wait", code=error.code, reason=error.detail)
        metrics = self.main.metrics
        works = [PeriodicWork("acts", self.write_acts, "acts_wait", WRITE_SECONDS, delay=WRITE_SECONDS)]
        if metrics.of_workers:
            works.append(PeriodicWork("metrics", metrics.refresh, "metrics_wait", REFRESH_SECONDS))
        self._background = [
            asyncio.create_task(self.fullness.keep_measuring(), name="shards"),
            *(asyncio.create_task(work.run(), name=work.name) for work in works),
        ]
        structlog.get_logger().info("shards", shards=[MAIN, *(shard.name for shard in self.places.shards)])

    async def close(self) -> None:
        """Close every shard, the first one last, since the others share its parts; then raise what a shard raised."""
        async with AsyncExitStack() as closing:  # it closes in the reverse order
            await self._openings.close()
            for runtime in self.runtimes.values():
                closing.push_async_callback(runtime.close)
            await stop(self._background)
            await attempt(self.write_acts, waits="acts_lost")
            await self.fullness.close()

    def check_turn(self, authorization: Callable[[], Sequence[str]]) -> None:
        """Raise ``Overloaded`` if a request with these ``Authorization`` headers would wait for its turn for too long.

        It costs little, and is asked before anything is done for a request. The headers are read where requests wait.
        """
        turns, issuers = self.main.backends.admission.requests, self.main.backends.issuers
        if not turns:
            return
        sent = authorization()
        principal = self.main.credentials.seen(sent)
        if principal is None and issuers is not None:
            principal = issuers.seen(sent)
        if principal is not None:
            turns.check(principal.tenant_id)

    async def of(self, tenant_id: str) -> Runtime:
        """Return the runtime of the shard where a tenant lives.

        Raises:
            ShardUnavailable: the shard is missing, or cannot be used.
            Unavailable: the directory does not answer, and this process does not know where the tenant lives.
        """
        if self.main.not_ready is None:
            await self.places.hear()
        if not self.places.sharded:
            return self.main
        await self._hear_of_added()
        place = await self.places.find(tenant_id, self._choose, self._left)
        return await self.opened(place.shard)

    async def opened(self, name: str) -> Runtime:
        """Return the runtime of a shard, which is opened now if it is not open; raises as ``named`` does."""
        for shard in self.places.shards:
            if shard.name == name:
                await self._openings.open(shard)
        return self.named(name)

    def named(self, name: str) -> Runtime:
        """Return the runtime of a shard.

        Raises:
            ShardUnavailable: the shard is missing, or cannot be used.
        """
        if (failure := self._openings.failures.get(name)) is not None:
            raise ShardUnavailable(f"The shard {name} cannot be used: {failure.error.detail}")
        runtime = self.runtimes.get(name)
        if runtime is None and name in {shard.name for shard in self.places.shards}:
            raise ShardUnavailable(f"The shard {name} is just being opened.")
        if runtime is None:
            raise ShardUnavailable(f"The shard {name}, where the tenant lives, is not in the directory.")
        if name != MAIN and runtime.not_ready is not None:
            raise ShardUnavailable(f"The shard {name} cannot be used: {runtime.not_ready.detail}")
        return runtime

    def act_keys(self) -> Sequence[bytes]:
        """Return the keys that sign administrative acts; the first one signs, all verify."""
        return self.main.credentials.keys(PURPOSE)

    async def run_of(self, tenant_id: str) -> RunStatements:
        """Return what runs statements of a tenant in the shard where it lives, those of ``DEPLOYMENT`` in the first.

        Raises:
            ShardUnavailable, Unavailable: as ``of`` does.
        """
        if tenant_id == DEPLOYMENT:
            return self.main.backends.database.run
        return (await self.of(tenant_id)).backends.of_tenant(tenant_id).data.database.run

    async def write_acts(self) -> None:
        """Write what is left to write of administrative acts.

        Raises:
            Unavailable: a database does not answer; what is left is written the next time.
        """
        await self.late_acts.write(self.run_of)

    async def check_new(self, name: str, database_id: str | None) -> None:
        """Return if a shard of this name and with this database may be added.

        Raises:
            InvalidRequest: the name has not the form of a shard's name, or is taken; or another shard has the database.
        """
        if not is_shard_name(name):
            raise InvalidRequest("A shard's name is a lower-case letter and up to 15 more letters or digits.")
        shards = await self.places.load()
        if name in {MAIN, *(shard.name for shard in shards)}:
            raise InvalidRequest(f"There is a shard {name} already.")
        if database_id is not None and database_id in {shard.database_id for shard in shards}:
            raise InvalidRequest(f"Another shard has the database {database_id}.")

    async def add(self, name: str, database_id: str | None) -> None:
        """Write a new shard into the directory; every process learns of it within a minute.

        Raises:
            InvalidRequest: as ``check_new`` does.
            Unavailable: the directory does not answer.
        """
        await self.check_new(name, database_id)
        (added,) = await self.main.backends.database.run([directory.add(name, database_id)])
        if not added:
            raise InvalidRequest(f"There is a shard {name}, or one with its database, already.")
        await self._open_every()

    async def parts(self) -> list[PartState]:
        """Check the parts of every shard; the service is ready without those beside the first, for other tenants."""
        parts = await self.main.checks.parts()
        for shard in self.places.shards:
            parts = [*parts, *await self._parts_of(shard)]
        return parts + self.fullness.notices()

    async def _parts_of(self, shard: Shard) -> list[PartState]:
        try:
            runtime = self.named(shard.name)
        except ShardUnavailable as error:
            return [PartState(f"shard {shard.name}", shard.database_id or "file", error, needed_by="some")]
        return [
            replace(part, name=f"{part.name} of shard {shard.name}", needed_by="some")
            for part in await runtime.checks.parts()
            if part.name in {"database", "index", "data"}
        ]

    async def _open_every(self) -> None:
        """Open the shards that the directory names, and wait for them, unless each is opened only when it is needed.

        Raises:
            Unavailable: the directory does not answer.
        """
        await self._hear_of_added()
        if self._every:
            await asyncio.gather(*(self._openings.open(shard) for shard in self.places.shards))

    async def _hear_of_added(self) -> None:
        """Read which shards have been added since the last time, and begin to open them.

        Raises:
            Unavailable: the directory does not answer.
        """
        if not self.places.outdated:
            return
        async with self._loading:
            if self.places.outdated:
                for shard in await self.places.load():
                    if self._every:
                        self._openings.begin(shard)

    async def _choose(self, tenant_id: str) -> Place:
        """Return a place in the least full shard that answers for a new tenant, and enter the tenant there.

        Where the shard's answer is lost, or another process is first to place the tenant, the tenant never lives there.

        Raises:
            Unavailable: the directory, or every shard that may take tenants, does not answer.
        """
        await asyncio.gather(*(self._openings.open(shard) for shard in self.places.shards))
        failures: list[Unavailable] = []
        for place in map(directory.first_place, await self.fullness.least_first()):
            try:
                if place.shard != MAIN:
                    database = self.named(place.shard).backends.database
                    await database.run([directory.enter(tenant_id, place.epoch)])
            except Unavailable as error:  # it has answered when it was measured
                structlog.get_logger().warning("shard_takes_no_tenant", shard=place.shard, code=error.code)
                failures.append(error)
            else:
                return place
        raise failures[0]

    async def _left(self, place: Place, tenant_id: str) -> Place:
        """Follow a tenant that has left the shard which the directory names, and correct the directory.

        The directory is wrong where a move was stopped after the tenant left and before the directory was written.
        """
        for _ in range(_MAX_HOPS):
            database = (await self.opened(place.shard)).backends.database
            (rows,) = await database.run([directory.read_left(tenant_id)])
            to = directory.read_places(rows)
            if to is None or to.epoch <= place.epoch:
                break
            await self.places.switch(tenant_id, to)
            place = to
        return place
