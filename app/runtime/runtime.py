"""Runs the service as long as the process lives: readiness, background work and the services of each request."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

import structlog

from app.domain.author import Author
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import DatabaseRejected, MemoryGatewayError, SchemaTooNew, Unavailable
from app.domain.request_note import RequestNote
from app.indexing.indexer import Indexer
from app.indexing.jobs.backfill import backfill_segments
from app.indexing.jobs.erase import Eraser
from app.observability.metrics import Metrics
from app.runtime.backends import Backends
from app.runtime.background import MAX_RETRY_SECONDS, RETRY_SECONDS, Pace, background_works
from app.runtime.checks import Checks, another_config
from app.runtime.credential_uses import write_uses
from app.runtime.language_model import write_spend
from app.runtime.periodic import PeriodicWork, stop
from app.runtime.processes import release_all, release_own
from app.runtime.recall_log import write_recalls
from app.runtime.schema import SchemaWatch
from app.runtime.tenant_services import TenantServices
from app.services.access.credentials import Credentials
from app.services.access.revocations import Revocation
from app.storage import embedding_configs
from app.storage.migrations.runner import migrate, prepare_for_command
from app.storage.rows import read_rows
from app.storage.system import directory, outbox_status, revocations
from app.storage.system.outbox_status import OutboxStatus


class Runtime:
    """Gives each request its services, once the database is migrated and its embedding config can be served.

    Until then, and while the data cannot be reached, every request is refused with the reason, and the preparation
    is retried, first every second, then less often: the service recovers by itself.
    """

    def __init__(
        self,
        backends: Backends,
        credentials: Credentials,
        metrics: Metrics,
        *,
        name: str,
        prepare_index: Callable[[EmbeddingConfig], Awaitable[None]],
        closers: Sequence[Callable[[], Awaitable[None]]] = (),
        pace: Pace | None = None,
    ) -> None:
        """Take the backends, this process's name, the function that prepares the index, and the closing functions."""
        self._schema = SchemaWatch(backends.database, self._wait_for_data, backends.migrations)
        self.backends = backends = replace(backends, explain=self._schema.why, mint=credentials.mint)
        self.credentials = credentials
        self.metrics = metrics
        self.name = name
        self.config = backends.embedder.config
        """The config that is served: the data's where there is data, else the config of the settings."""
        self.pace = pace or Pace()
        self._retry_seconds = RETRY_SECONDS
        self._lacks_words = False
        self._words_missing = asyncio.Event()
        self.indexer = Indexer(
            backends.database,
            backends.index_of,
            backends.acknowledgements,
            holder=name,
            report=self._report,
            eraser=Eraser(backends.database, backends.index_of, backends.objects, backends.moving),
            rests=lambda: self._calls_low or isinstance(self.not_ready, SchemaTooNew),
        )
        self.prepare_index = prepare_index
        self.closers = closers
        self.not_ready: MemoryGatewayError | None = Unavailable("The service has not started yet.")
        """Why requests are refused; None when they are served."""
        self.checks = Checks(
            backends,
            lambda: self.config,
            lambda: self.not_ready,
            self.pace.look_again_seconds,
            words_missing=lambda: self._lacks_words,
        )
        self._background: Sequence[asyncio.Task[None]] = ()

    async def prepare(self) -> None:
        """Migrate the data and check that it can be written and that its embedding config can be served.

        Raises:
            SchemaTooNew: a newer version has migrated the data, and this one cannot run beside it.
            SchemaTooOld: the data has to be migrated, and this runtime does not do it.
            Unavailable: the data cannot be reached or written, or was embedded with another config.
        """
        shares = self.backends.call_shares
        if shares is not None:
            await shares.discover()
        applied = await self._bring_schema_up_to_date()
        if applied:
            structlog.get_logger().info("migrated", shard=self.backends.shard, migrations=applied)
        if shares is not None:
            await shares.begin()
        self.backends.processes.enter()
        await release_all(self.backends)
        await backfill_segments(self.backends.database)
        self.config = config = await self._config_to_serve()
        await self.prepare_index(config)
        await self.backends.scales.find(config, self.backends.embedder_of(config))
        await self.indexer.check_writable()
        await self.backends.revocations.refresh(self.read_revocations)
        self.not_ready = None
        self._retry_seconds = RETRY_SECONDS
        structlog.get_logger().info(
            "ready",
            shard=self.backends.shard,
            migrations=applied,
            database=self.backends.database.backend,
            index=self.backends.index.backend,
            embedding_config=str(config),
            cloudflare_calls=None if shares is None else shares.described,
        )

    async def _bring_schema_up_to_date(self) -> Sequence[str]:
        """Migrate as a service does, or check as a command does; return the names of the migrations applied."""
        if self.backends.migrates:
            return await migrate(self.backends.database, self.backends.migrations)
        return await prepare_for_command(self.backends.database)

    async def _config_to_serve(self) -> EmbeddingConfig:
        """Return the config of the data, where there is data, else the config of the settings.

        Raises:
            EmbeddingConfigMismatch: the data has another config, and this process cannot embed with it.
        """
        data = await embedding_configs.begin(self.backends.database, self.backends.embedder.config)
        if data is None:
            return self.backends.embedder.config
        self.backends.embedder_of(data.active)
        self.backends.registry.seen(data)
        if data.active != self.backends.embedder.config:
            structlog.get_logger().warning(
                "another_config_in_settings", notice=another_config(data, self.backends.embedder.config)
            )
        return data.active

    async def start(self) -> None:
        """Prepare the data and start the background work; if the data cannot be reached, wait for it.

        Raises:
            SchemaTooNew: a newer version has migrated the data, and this one cannot run beside it.
        """
        try:
            await self.prepare()
        except SchemaTooNew:
            raise
        except Unavailable as error:
            self._wait_for_data(error)
        seconds = self.pace.schema_seconds
        schema = PeriodicWork("schema", self._look_at_schema, "schema_unread", seconds, delay=seconds)
        works = background_works(
            self.backends,
            self.pace,
            served=lambda: self.not_ready is None,
            may_work=lambda: self.not_ready is None and not self._calls_low,
            words_missing=self._words_missing,
        )
        works |= {"indexer": self._work, schema.name: schema.run}
        self._background = [asyncio.create_task(work(), name=name) for name, work in works.items()]

    async def close(self) -> None:
        """Stop the background work, write what only this process knows, and close everything."""
        try:
            await stop(self._background)
            await self.backends.background.close()
            await self.backends.deliveries.close()
            await self._write_what_is_left()
            await self.backends.scales.close()
            self.backends.processes.leave()
            if self.backends.call_shares is not None:
                await self.backends.call_shares.end()
        finally:
            async with AsyncExitStack() as closing:  # it closes in the reverse order, and goes on where one raises
                for close in reversed(self.closers):
                    closing.push_async_callback(close)

    @property
    def _calls_low(self) -> bool:
        return self.backends.calls is not None and self.backends.calls.low()

    def _report(self, status: OutboxStatus) -> None:
        self.metrics.outbox(status, self.backends.shard)
        self._lacks_words = status.words_missing
        if status.words_missing:
            self._words_missing.set()

    def services(self, tenant_id: str, author: Author | None = None, note: RequestNote | None = None) -> TenantServices:
        """Return fresh services bound to the tenant and the author; the author by default may replace nothing.

        ``note``: the notes of the one request that the services are for.

        Raises:
            MemoryGatewayError: the service is not ready; the error says why.
        """
        if self.not_ready is not None:
            raise self.not_ready.with_traceback(None)  # one error for many requests
        if author is not None and author.may_be_revoked:
            raise Unavailable("The service has just become ready. Try again.")
        return TenantServices(self.backends.of_tenant(tenant_id, author, note))

    async def outbox_status(self) -> OutboxStatus:
        """Read the status of the outbox, over all tenants.

        Raises:
            Unavailable: the database does not answer.
        """
        ((row,),) = await self.backends.database.run([outbox_status.READ])
        return outbox_status.read(row)

    async def read_revocations(self, since: int) -> list[Revocation]:
        """Read the next revocations after a moment, and in the same run how many shards there are.

        Raises:
            Unavailable: the database does not answer.
        """
        try:
            rows, (state,) = await self.backends.database.run([revocations.read(since), directory.COUNT_SHARDS])
        except DatabaseRejected as refusal:
            raise await self._schema.why(refusal) from refusal
        self.backends.shards_seen(directory.read_count(state))
        return read_rows(Revocation, rows)

    async def _work(self) -> None:
        """Prepare the service until it is ready, then keep the index up to date, until cancelled."""
        while True:
            try:
                if self.not_ready is None:
                    await self.indexer.run(self.pace.indexer_seconds)
                else:
                    await asyncio.sleep(self._retry_seconds)
                    self._retry_seconds = min(2 * self._retry_seconds, MAX_RETRY_SECONDS)
                    await self._prepare_or_wait()
            except Exception:  # noqa: BLE001 - a defect is logged and must not stop the work for good
                structlog.get_logger().exception("background_failed")
                await asyncio.sleep(RETRY_SECONDS)

    async def _look_at_schema(self) -> None:
        """Read the schema's version; where the service had to stop for a newer schema, prepare it again if it may run.

        Raises:
            Unavailable: the database does not answer; the version that was last read still counts.
        """
        if isinstance(self.not_ready, SchemaTooNew):
            await self._prepare_or_wait(SchemaTooNew)
        elif self.not_ready is None:
            await self._schema.look()

    async def _prepare_or_wait(self, reason: type[MemoryGatewayError] = MemoryGatewayError) -> None:
        try:
            await self.prepare()
        except reason as error:
            self._wait_for_data(error)

    def _wait_for_data(self, error: MemoryGatewayError) -> None:
        """Refuse every request with this error: a newer version has migrated the data, or it cannot be reached."""
        if self.not_ready is None or self.not_ready.code != error.code:
            structlog.get_logger().error("not_ready", code=error.code, reason=error.detail)
        self.not_ready = error

    async def _write_what_is_left(self) -> None:
        """Write what only this process knows, and release its leases; a write that the database refuses is logged."""
        if self.not_ready is not None:
            return
        backends = self.backends
        left: Sequence[tuple[str, Callable[[], Awaitable[None]], Callable[[], dict[str, int]]]] = [
            ("model_spend_lost", partial(write_spend, backends), dict),
            ("credential_uses_lost", partial(write_uses, backends), dict),
            ("recall_log_lost", partial(write_recalls, backends), lambda: {"rows": len(backends.recall_log)}),
            ("marks_left", self.indexer.close, dict),  # the rows are checked again
            ("leases_left", partial(release_own, backends), dict),
        ]
        for event, write, figures in left:
            try:
                await write()
            except MemoryGatewayError as error:
                structlog.get_logger().warning(event, **figures(), code=error.code, reason=error.detail)
