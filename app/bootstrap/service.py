"""Builds the running service from the settings."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from threadpoolctl import threadpool_limits

from app.adapters.breaker import Breakers
from app.adapters.coalescing.gatherer import FREE
from app.adapters.local.imports import without
from app.adapters.local.transformer import TransformerEmbedder
from app.bootstrap.account import Close, open_account, process_name
from app.bootstrap.credentials import build_credentials
from app.bootstrap.files import open_file
from app.bootstrap.issuers import build_delegation, build_issuers
from app.bootstrap.models import (
    build_language_model,
    build_reader,
    build_reranker,
    opener,
    plain_embedder,
    query_prefix,
    with_prefixes,
)
from app.bootstrap.objects import build_objects
from app.bootstrap.observing import open_traces, show_disk
from app.bootstrap.stacks import Stack, cloudflare_stack, local_stack
from app.domain.moments import wall_clock
from app.domain.quotas import ModelLimits
from app.domain.shards import MAIN, Shard
from app.indexing.cosine_scales import CosineScales
from app.indexing.delivery import Deliveries
from app.indexing.embedding_registry import EmbeddingRegistry
from app.indexing.reading_queue import ReadingQueue
from app.observability.audit_metrics import AuditMetrics
from app.observability.metrics import Metrics
from app.runtime.backends import Backends, LastAnswer
from app.runtime.background import Pace
from app.runtime.places import Places
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.services.access.revocations import CredentialUses, Revocations
from app.services.models.spend import ModelSpend
from app.services.tenant.backends import IMPORT_LINES, TenantLimits
from app.services.tenant.background import Background
from app.services.tenant.caches import TenantCaches
from app.services.tenant.context_cache import ContextCache
from app.services.tenant.recall_log import RecallLog
from app.services.tenant.screening import Screening
from app.services.tenant.tenant_cache import TenantCache
from app.services.turns.admission import Admission
from app.services.turns.minute_tally import MinuteTally
from app.settings import Settings

_LOCAL_IMPORT_LINES = 50
"""The lines of one batch of an import on this machine.

A batch costs no call here, and its steps hold other requests up: with 50 lines for 4 ms at most.
"""
_COMMAND_IMPORT_LINES = 500
"""The lines of one batch of an import by a command.

A command holds up only the writes of other processes, for a fifth of a second. A commit writes each page once, however
many of the batch's lines are in it.
"""
_LOCAL_WINDOW_LINES, _COMMAND_WINDOW_LINES = 2_000, 20_000
"""How many lines of an import are read before they are written, in the order of their ids.

Lines with ids near each other go to the same pages of the file's indexes; a batch of other lines changes as many pages
as it has lines.
"""


def build_runtime(settings: Settings, *, embedded: bool = False) -> Runtime:
    """Build the first shard of the service alone, as ``build_shards`` does."""
    return build_shards(settings, embedded=embedded).main


def build_shards(
    settings: Settings, *, embedded: bool = False, command: bool = False, counts: MinuteTally | None = None
) -> Shards:
    """Build the service on Cloudflare where its settings are given, else on the embedded default.

    With ``embedded`` the memories are kept in DATA_DIR, even if the settings name an account; embedder and models
    stay. A ``command`` waits for Cloudflare's calls and leaves them to requests, and migrates no data. The shards
    beside the first are opened once the directory is read. Nothing is read, written or called before ``start``.
    ``counts`` are what all workers count, where this process is one of several.

    Raises:
        ConfigurationError: the settings name a backend incompletely, or a directory or model that cannot be used.
    """
    _limit_threads()
    process = _Process(settings, on_cloudflare=settings.on_cloudflare and not embedded, command=command, counts=counts)
    stack = process.open_stack()
    places = Places(stack.database)
    process.closers.append(stack.close)
    main = process.runtime(process.first_backends(stack, places), stack, process.closers)

    def open_shard(shard: Shard) -> Runtime:
        own = process.open_stack(shard)
        return process.runtime(process.backends_of(shard, own, main.backends, places), own, [own.close])

    return Shards(main, places, open_shard)


@cache
def _limit_threads() -> None:
    """Let BLAS multiply in one thread. The limit holds for the process.

    Products of this size gain little from a second thread, while BLAS's threads burn processor time waiting for each
    other and fight with other requests' work.
    """
    threadpool_limits(limits=1, user_api="blas")


class _Process:
    """The parts that the runtimes of all shards of this process share."""

    def __init__(self, settings: Settings, *, on_cloudflare: bool, command: bool, counts: MinuteTally | None) -> None:
        """Open the shared parts; raises ``ConfigurationError`` as ``build_shards`` does."""
        self._settings = settings
        self._on_cloudflare = on_cloudflare
        self._command = command
        self._name = process_name()
        self._metrics = metrics = Metrics(of_workers=settings.several_workers)
        if not on_cloudflare:
            show_disk(metrics, settings.data_dir)
        export = None if command else open_traces(settings, metrics, self._name)
        self._breakers = breakers = Breakers(metrics)
        self._counts = AuditMetrics(metrics.registry, tenants=settings.metrics_tenants)
        self._account = account = (
            open_account(settings, metrics, self._name, breakers, command=command) if on_cloudflare else None
        )
        client, metering = (None, FREE) if account is None else (account.client, account.metering)
        self._credentials = build_credentials(settings)
        plain = plain_embedder(settings, client, metrics, breakers, metering)
        self._embedder = with_prefixes(settings, plain)
        self._reader = build_reader(settings, beside=plain)
        self._reranker = build_reranker(settings, client, metrics, breakers)
        self._model = build_language_model(settings, client, metrics, breakers)
        self._admission = Admission(
            wait_seconds=settings.request_wait_seconds,
            tenant_recalls=settings.tenant_recalls_per_minute,
            agent_recalls=settings.agent_recalls_per_minute,
            credential_requests=settings.credential_requests_per_minute,
            counts=counts,
        )
        if isinstance(plain, TransformerEmbedder):
            self._admission.requests.watch(plain)
        self.closers: list[Close] = [
            plain.close,
            *(each.close for each in (self._reader, self._reranker, self._model, export) if each is not None),
        ]
        """The functions that close the shared parts; those of embedders that are opened later are added."""
        self._issuers = build_issuers(settings, metrics, self.closers)
        self._open_embedder = opener(settings, plain, account, metrics, breakers, self.closers)

    def open_stack(self, shard: Shard | None = None) -> Stack:
        """Open the database and the indexes of a shard or, where no shard is given, of the settings."""
        if self._account is None:
            file, requests = open_file(self._settings, shard, bulk=self._command), self._admission.requests
            requests.watch(file)
            stack = local_stack(self._settings, file)

            async def close() -> None:
                requests.unwatch(file)
                await stack.close()

            return replace(stack, close=close)
        return cloudflare_stack(self._settings, self._account, shard)

    def first_backends(self, stack: Stack, places: Places) -> Backends:
        """Return the backends of the shard that the settings name."""
        settings, account = self._settings, self._account
        return Backends(
            database=stack.database,
            migrates=not self._command,
            processes=stack.processes(self._name),
            presence=places.presence(MAIN),
            shards_seen=places.seen,
            moving=places.moving,
            stored_bytes=stack.stored_bytes,
            check_room=stack.check_room,
            limited=stack.limited,
            index=stack.open_index(self._embedder.config),
            embedder=self._embedder,
            limits=self._limits(),
            admission=self._admission,
            caches=TenantCaches(
                queries=TenantCache(settings.query_cache_bytes),
                context=ContextCache(
                    settings.context_cache_bytes, 0 if self._shares_file else settings.context_cache_seconds
                ),
            ),
            screening=self._screening(),
            clock=wall_clock,
            scales=self._scales(stack),
            registry=EmbeddingRegistry(stack.open_index, self._open_embedder),
            revocations=self._revocations(stack),
            issuers=self._issuers,
            delegation=build_delegation(settings),
            objects=build_objects(settings, self._metrics, self._breakers, embedded=not self._on_cloudflare),
            snapshots_kept=settings.snapshots_kept,
            archive_days=settings.archive_days,
            recall_log=self._recall_log(),
            circuits=self._breakers.circuits,
            recall_part_seconds=settings.recall_part_seconds,
            recall_strict=settings.recall_strict,
            calls=None if account is None else account.calls,
            call_shares=None if account is None else account.shares,
            reader=self._reader,
            reranker=self._reranker,
            reranker_seconds=settings.reranker_seconds,
            model=self._model,
            recall_model_seconds=settings.recall_model_seconds,
            recall_analysis_seconds=settings.recall_analysis_seconds,
            model_spend=self._model_spend(),
        )

    def backends_of(self, shard: Shard, stack: Stack, first: Backends, places: Places) -> Backends:
        """Return the backends of another shard: all parts that belong to one database are its own."""
        return replace(
            first,
            database=stack.database,
            index=stack.open_index(self._embedder.config),
            caches=replace(first.caches, shard=shard.name),
            background=Background(),
            last_answer=LastAnswer(),
            deliveries=Deliveries(),
            reading_queue=ReadingQueue(),
            scales=self._scales(stack),
            registry=EmbeddingRegistry(stack.open_index, self._open_embedder),
            shard=shard.name,
            processes=stack.processes(self._name),
            presence=places.presence(shard.name),
            shards_seen=lambda _: None,
            stored_bytes=stack.stored_bytes,
            check_room=stack.check_room,
            revocations=self._revocations(stack),
            credential_uses=CredentialUses(),
            recall_log=self._recall_log(),
            call_shares=None,
            model_spend=self._model_spend(),
        )

    def runtime(self, backends: Backends, stack: Stack, closers: Sequence[Close]) -> Runtime:
        """Return the runtime of a shard."""
        return Runtime(
            backends,
            self._credentials,
            self._metrics,
            name=self._name,
            prepare_index=stack.prepare_index,
            closers=closers,
            pace=_pace(self._settings, stack.pace),
        )

    def _limits(self) -> TenantLimits:
        settings = self._settings
        lines, window = _LOCAL_IMPORT_LINES, _LOCAL_WINDOW_LINES
        if self._on_cloudflare:
            lines = window = IMPORT_LINES
        elif self._command:
            lines, window = _COMMAND_IMPORT_LINES, _COMMAND_WINDOW_LINES
        return TenantLimits(
            quotas=settings.quota_defaults,
            import_lines=lines,
            import_window=window,
            tenant_episodes=settings.tenant_episodes,
            episodes_near_limit=self._metrics.episodes_near_limit,
            window_tokens=settings.window_tokens,
        )

    @property
    def _shares_file(self) -> bool:
        """Whether other workers write the same file: then a worker reads again what others may just have written."""
        return self._settings.several_workers and not self._on_cloudflare

    def _screening(self) -> Screening:
        settings = self._settings
        if settings.sensitive_content == "off":
            return Screening()
        with without("requests"):  # by which its plugins would ask vendors whether a key is valid: 40 ms and 3 MB
            from app.adapters.local.sensitive_detector import PatternDetector  # noqa: PLC0415 - loading it takes long

        return Screening(
            settings.sensitive_content, PatternDetector(settings.sensitive_kinds), self._metrics.sensitive_content
        )

    def _scales(self, stack: Stack) -> CosineScales:
        return CosineScales(stack.database, query_prefix=query_prefix(self._embedder))

    def _revocations(self, stack: Stack) -> Revocations:
        return Revocations(0.0, stack.version) if self._shares_file else Revocations()

    def _recall_log(self) -> RecallLog:
        return RecallLog(self._counts, keep=self._settings.audit_recalls)

    def _model_spend(self) -> ModelSpend:
        settings = self._settings
        limits = ModelLimits(settings.tenant_model_calls_per_day, settings.tenant_model_tokens_per_day)
        return ModelSpend(limits, self._counts.model_tokens)


def _pace(settings: Settings, usual: Pace) -> Pace:
    seconds = settings.indexer_seconds
    return usual if seconds is None else replace(usual, indexer_seconds=seconds)
