"""Settings to a running service. The only module that names concrete adapters."""

import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import structlog
from threadpoolctl import threadpool_limits

from app.adapters.cloudflare.account import Account, Placement
from app.adapters.cloudflare.call_budget import RESERVE, UNLEASED, CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.provisioning import Provisioning, ProvisioningPlan
from app.adapters.cloudflare.tenant_calls import TenantCalls
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.adapters.cloudflare.workers_ai import WorkersAIEmbedder
from app.adapters.cloudflare.workers_ai_language_model import STRUCTURED_MODEL, SYNTHESIS_MODEL, WorkersAILanguageModel
from app.adapters.cloudflare.workers_ai_reranker import WorkersAIReranker
from app.adapters.coalescing.database import CoalescingDatabase
from app.adapters.coalescing.embedder import CoalescingEmbedder
from app.adapters.coalescing.gatherer import Charge, charge_nobody
from app.adapters.coalescing.index import CoalescingIndex
from app.adapters.http.language_model import HttpLanguageModel
from app.adapters.http.reranker import HttpReranker
from app.adapters.local.hashing import HashingEmbedder
from app.adapters.local.secret_file import local_secrets
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile, open_to_others
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.adapters.local.transformer import TransformerEmbedder, packaged_model_dir
from app.adapters.objects.folder import FolderObjects
from app.adapters.objects.r2 import R2Objects
from app.adapters.openai.embedder import OpenAIEmbedder
from app.adapters.prefixed import PrefixedEmbedder, Prefixes, prefixed
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import ConfigurationError, ShardUnavailable
from app.domain.quotas import ModelLimits
from app.domain.shards import MAIN, Place, Shard
from app.indexing.acknowledgements import Acknowledgements
from app.indexing.cosine_scales import CosineScales
from app.indexing.embedding_registry import EmbeddingRegistry
from app.indexing.rate_limiter import RateLimiter
from app.observability.audit_metrics import AuditMetrics
from app.observability.metrics import Metrics
from app.ports.database import Database, Statement
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin
from app.ports.language_model import STAGES
from app.ports.object_store import NoObjectStore, ObjectStore
from app.runtime.backends import Backends
from app.runtime.call_shares import CallShares, ProcessCalls
from app.runtime.maintenance import UNMETERED, Maintenance
from app.runtime.places import Places
from app.runtime.runtime import Pace, Runtime
from app.runtime.shards import Shards
from app.services.context_cache import ContextCache
from app.services.credentials import Credentials
from app.services.model_spend import ModelSpend
from app.services.query_vectors import QueryCache
from app.services.recall_log import RecallLog
from app.services.recall_rates import RecallRates
from app.services.revocations import Revocations
from app.settings import Settings
from app.storage.migrations.runner import migrate
from app.storage.system import directory

DATABASE_FILE = "memory.sqlite3"
BLOBS_FOLDER = "blobs"
SHARDS_FOLDER = "shards"
_METERED = Pace(indexer_seconds=15.0, look_again_seconds=30.0, windows_seconds=300.0)
"""On Cloudflare every call counts."""

PlainEmbedder = TransformerEmbedder | HashingEmbedder | CoalescingEmbedder
OwnedEmbedder = PlainEmbedder | PrefixedEmbedder
OwnedReranker = HttpReranker | WorkersAIReranker
OwnedLanguageModel = HttpLanguageModel | WorkersAILanguageModel
Close = Callable[[], Awaitable[None]]


def build_runtime(settings: Settings, *, embedded: bool = False) -> Runtime:
    """Build the first shard of the service alone, as ``build_shards`` does."""
    return build_shards(settings, embedded=embedded).main


def build_shards(settings: Settings, *, embedded: bool = False) -> Shards:
    """Build the service on Cloudflare where its settings are given, else on the embedded default.

    With ``embedded`` the memories are kept in DATA_DIR, even if the settings name an account; embedder and models
    stay. The shards beside the first are opened once the directory is read. Nothing is read, written or called before
    ``start``.

    Raises:
        ConfigurationError: the settings name half a backend, or a directory or model that cannot be used.
    """
    # Products of this size gain little from a second thread, while BLAS's threads burn processor time waiting
    # for each other and fight with other requests' work. The limit holds for the process.
    threadpool_limits(limits=1, user_api="blas")
    metrics = Metrics(of_workers=settings.workers > 1)
    counts = AuditMetrics(metrics.registry, tenants=settings.metrics_tenants)
    on_cloudflare = settings.on_cloudflare and not embedded
    # Workers on one file read what another has just written, as a single process does; a local read costs little.
    shares_file = settings.workers > 1 and not on_cloudflare
    name = _process_name()
    account = _open_account(settings, metrics, name) if on_cloudflare else None
    client = None if account is None else account.client

    def open_stack(shard: Shard | None = None) -> _Stack:
        return _local_stack(settings, shard) if account is None else _cloudflare_stack(settings, account, shard)

    def open_revocations() -> Revocations:
        return Revocations(0.0) if shares_file else Revocations()

    stack = open_stack()
    credentials = build_credentials(settings)
    plain = _plain_embedder(settings, client, metrics, charge_nobody if account is None else account.charge)
    embedder = _with_prefixes(settings, plain)
    reranker = build_reranker(settings, client, metrics)
    model = build_language_model(settings, client, metrics)
    closers = [plain.close, *(each.close for each in (reranker, model) if each is not None), stack.close]
    places = Places(stack.database)
    open_embedder = _opener(settings, plain, account, metrics, closers)
    main = Runtime(
        Backends(
            database=stack.database,
            presence=places.presence(MAIN),
            shards_seen=places.seen,
            stored_bytes=stack.stored_bytes,
            index=stack.open_index(embedder.config),
            embedder=embedder,
            queries=QueryCache(settings.query_cache_bytes),
            acknowledgements=Acknowledgements(),
            clock=wall_clock,
            scales=CosineScales(stack.database, query_prefix=_query_prefix(embedder)),
            registry=EmbeddingRegistry(stack.open_index, open_embedder),
            quotas=settings.quota_defaults,
            tenant_episodes=settings.tenant_episodes,
            context=ContextCache(settings.context_cache_bytes, 0 if shares_file else settings.context_cache_seconds),
            revocations=open_revocations(),
            episodes_near_limit=metrics.episodes_near_limit,
            objects=build_objects(settings, metrics, embedded=not on_cloudflare),
            recalls=RecallRates(settings.tenant_recalls_per_minute, settings.agent_recalls_per_minute),
            recall_log=RecallLog(counts, keep=settings.audit_recalls),
            calls=None if account is None else account.calls,
            call_shares=None if account is None else account.shares,
            reranker=reranker,
            reranker_seconds=settings.reranker_seconds,
            model=model,
            recall_model_seconds=settings.recall_model_seconds,
            model_spend=_model_spend(settings, counts),
        ),
        credentials,
        metrics,
        name=name,
        prepare_index=stack.prepare_index,
        closers=closers,
        pace=_pace(settings, stack.pace),
    )

    def open_shard(shard: Shard) -> Runtime:
        own = open_stack(shard)
        backends = replace(
            main.backends,
            database=own.database,
            index=own.open_index(embedder.config),
            acknowledgements=Acknowledgements(),
            scales=CosineScales(own.database, query_prefix=_query_prefix(embedder)),
            registry=EmbeddingRegistry(own.open_index, open_embedder),
            shard=shard.name,
            presence=places.presence(shard.name),
            shards_seen=lambda _: None,
            stored_bytes=own.stored_bytes,
            revocations=open_revocations(),
            recall_log=RecallLog(counts, keep=settings.audit_recalls),
            call_shares=None,
            model_spend=_model_spend(settings, counts),
        )
        return Runtime(
            backends,
            credentials,
            metrics,
            name=main.name,
            prepare_index=own.prepare_index,
            closers=[own.close],
            pace=main.pace,
        )

    return Shards(main, places, open_shard)


def _model_spend(settings: Settings, counts: AuditMetrics) -> ModelSpend:
    limits = ModelLimits(settings.tenant_model_calls_per_day, settings.tenant_model_tokens_per_day)
    return ModelSpend(limits, counts.model_tokens)


def build_credentials(settings: Settings) -> Credentials:
    """Take the configured secrets, or the data directory's own where the service is embedded."""
    if settings.auth_secrets:
        return Credentials(settings.auth_secrets)
    if settings.on_cloudflare:
        raise ConfigurationError("AUTH_SECRETS is not set: replicas on Cloudflare have no secret file to share.")
    return Credentials(local_secrets(_data_dir(settings)))


def build_embedder(
    settings: Settings, client: CloudflareClient | None = None, metrics: Metrics | None = None
) -> OwnedEmbedder:
    """Choose the embedder, with the prefixes that its texts need.

    Raises:
        ConfigurationError: the embedder lacks a setting, or the model is not known.
    """
    return _with_prefixes(settings, _plain_embedder(settings, client, metrics or Metrics()))


def _with_prefixes(settings: Settings, embedder: PlainEmbedder) -> OwnedEmbedder:
    query, document = settings.embedding_query_prefix, settings.embedding_document_prefix
    return prefixed(embedder, Prefixes.of_model(embedder.config.model, query=query, document=document))


def _plain_embedder(
    settings: Settings, client: CloudflareClient | None, metrics: Metrics, charge: Charge = charge_nobody
) -> PlainEmbedder:
    """Choose the embedder; the local one falls back to hashing, with a warning, where no weights are present."""
    chosen = settings.chosen_embedder
    if chosen == "openai":
        if not settings.openai_api_key:
            raise ConfigurationError("EMBEDDER is openai, but OPENAI_API_KEY is not set.")
        openai = OpenAIEmbedder(
            api_key=settings.openai_api_key,
            metrics=metrics,
            model=settings.embedding_model or "text-embedding-3-small",
            dimensions=settings.embedding_dimensions,
            base_url=settings.openai_base_url,
            calls_per_minute=settings.openai_calls_per_minute or None,
        )
        return CoalescingEmbedder(openai)
    if chosen == "workers-ai":
        model = settings.embedding_model or "@cf/baai/bge-m3"
        return CoalescingEmbedder(WorkersAIEmbedder(client or build_client(settings, metrics), model), charge)
    return HashingEmbedder() if chosen == "hashing" else _local_embedder(settings)


def build_reranker(settings: Settings, client: CloudflareClient | None, metrics: Metrics) -> OwnedReranker | None:
    """Choose the reranker; None where the settings name none.

    Raises:
        ConfigurationError: the reranker lacks a setting, or the model is not known.
    """
    if settings.reranker == "none":
        return None
    model, seconds = settings.reranker_model, settings.reranker_seconds
    if settings.reranker == "workers-ai":
        client = client or build_client(settings, metrics)
        return WorkersAIReranker(client, *([] if model is None else [model]), seconds=seconds)
    if not settings.reranker_base_url:
        raise ConfigurationError("RERANKER is http, but RERANKER_BASE_URL is not set.")
    return HttpReranker(
        base_url=settings.reranker_base_url,
        api_key=settings.reranker_api_key,
        metrics=metrics,
        model=model,
        seconds=seconds,
    )


def build_language_model(
    settings: Settings, client: CloudflareClient | None, metrics: Metrics
) -> OwnedLanguageModel | None:
    """Choose the language model; None where the settings name none.

    Raises:
        ConfigurationError: it lacks a setting.
    """
    if settings.language_model == "none":
        return None
    named = {stage: settings.language_model_names.get(stage, settings.language_model_name) for stage in STAGES}
    seconds = settings.language_model_seconds
    if settings.language_model == "workers-ai":
        usual = {stage: SYNTHESIS_MODEL if stage == "synthesise" else STRUCTURED_MODEL for stage in STAGES}
        models = {stage: named[stage] or usual[stage] for stage in STAGES}
        return WorkersAILanguageModel(client or build_client(settings, metrics), models, metrics, seconds=seconds)
    on_openai = settings.language_model == "openai"
    api_key = settings.language_model_api_key or (settings.openai_api_key if on_openai else None)
    if settings.language_model_lacks:
        lacks = f"LANGUAGE_MODEL is {settings.language_model}, but {settings.language_model_lacks} is not set."
        raise ConfigurationError(lacks)
    return HttpLanguageModel(
        named,
        base_url=settings.language_model_url or "",
        api_key=api_key,
        metrics=metrics,
        seconds=seconds,
        provider="openai" if on_openai else "http",
    )


def build_objects(settings: Settings, metrics: Metrics, *, embedded: bool) -> ObjectStore:
    """Choose where blobs lie: in DATA_DIR, or on Cloudflare in the bucket of the settings, if they name one.

    Raises:
        ConfigurationError: the settings name half a bucket.
    """
    if embedded:
        return FolderObjects(_data_dir(settings) / BLOBS_FOLDER, metrics)
    bucket, key, secret = settings.r2_bucket, settings.r2_access_key_id, settings.r2_secret_access_key
    given = {"R2_BUCKET": bucket, "R2_ACCESS_KEY_ID": key, "R2_SECRET_ACCESS_KEY": secret}
    if not any(given.values()):
        return NoObjectStore()
    if not (bucket and key and secret):
        raise ConfigurationError(_missing(given))
    return R2Objects(
        endpoint=settings.r2_endpoint or f"https://{settings.cloudflare_account_id}.r2.cloudflarestorage.com",
        bucket=bucket,
        access_key_id=key,
        secret_access_key=secret,
        metrics=metrics,
    )


def build_client(settings: Settings, metrics: Metrics, call_budget: CallBudget | None = None) -> CloudflareClient:
    """Make the one Cloudflare client of this process. Without a budget it counts its own calls, and leases no share.

    Raises:
        ConfigurationError: a setting it needs is missing.
    """
    account_id, api_token = settings.cloudflare_account_id, settings.cloudflare_api_token
    if not (account_id and api_token):
        given = {"CLOUDFLARE_ACCOUNT_ID": account_id, "CLOUDFLARE_API_TOKEN": api_token}
        raise ConfigurationError(_missing(given))
    return CloudflareClient(
        account_id=account_id,
        api_token=api_token,
        call_budget=call_budget or CallBudget(settings.cloudflare_calls_per_window or None),
        metrics=metrics,
        base_url=settings.cloudflare_api_base_url,
    )


def build_provisioning(
    settings: Settings,
    database_name: str,
    placement: Placement,
    *,
    poll_seconds: float,
    shard: Shard | None = None,
) -> tuple[Provisioning, Close]:
    """Make what creates the account's database and index, or those of a shard; the second value closes it.

    Raises:
        ConfigurationError: a setting is missing.
    """
    metrics = Metrics()
    client = build_client(settings, metrics)
    embedder = build_embedder(settings, client, metrics)

    async def close() -> None:
        await embedder.close()
        await client.close()

    wanted = ProvisioningPlan(
        database_name=database_name,
        database_id=settings.cloudflare_d1_database_id if shard is None else shard.database_id,
        placement=placement,
        config=embedder.config,
        filterable=settings.filterable_metadata,
    )
    name = None if shard is None else embedder.config.index_name_in(shard.name)
    index = VectorizeIndex(client, embedder.config, filterable=settings.filterable_metadata, name=name)
    provisioning = Provisioning(
        Account(client), index, wanted, open_database=lambda id_: D1Database(client, id_), poll_seconds=poll_seconds
    )
    return provisioning, close


async def make_shard(
    settings: Settings, name: str, database_id: str | None, report: Callable[[str], object], *, poll_seconds: float
) -> str | None:
    """Make a shard's database and index where they are absent, and return the database's id; None where it is a file.

    Raises:
        ConfigurationError: the settings name no account, but a database is given; or a setting is missing.
        Unavailable: a service does not answer. It is safe to run again.
    """
    if settings.on_cloudflare:
        shard = Shard(name, database_id, 0)
        provisioning, close = build_provisioning(
            settings, f"memory-gateway-{name}", Placement(), poll_seconds=poll_seconds, shard=shard
        )
        try:
            return await provisioning.apply(await provisioning.plan(), report)
        finally:
            await close()
    if database_id is not None:
        raise ConfigurationError("--database-id is for shards on Cloudflare: embedded, a shard is a file.")
    file = SqliteFile(shard_file(settings, name))
    try:
        await migrate(SqliteDatabase(file))
    finally:
        await file.close()
    return None


@asynccontextmanager
async def open_maintenance(settings: Settings, calls_per_minute: float) -> AsyncIterator[Sequence[Maintenance]]:
    """Prepare the runtime of every shard for maintenance, without background work, and close them in the end.

    Raises:
        ShardUnavailable: a shard is missing or cannot be used: what is not seen must not be taken for gone.
        ConfigurationError: a setting is missing.
        Unavailable: the data cannot be reached, or was embedded with a config that cannot be served.
    """
    shards = build_shards(settings)
    rate_limiter = RateLimiter(calls_per_minute if settings.on_cloudflare else UNMETERED)
    try:
        await shards.prepare()
        every = [shards.named(name) for name in (MAIN, *(shard.name for shard in shards.places.shards))]
        databases = [runtime.backends.database for runtime in every]
        yield [Maintenance(runtime, rate_limiter, databases) for runtime in every]
    finally:
        await shards.close()


def open_database(settings: Settings) -> tuple[Database, Close]:
    """Open the database of the settings alone; the second value closes it."""
    opened = AsyncExitStack()
    return _databases(settings, opened)(None), opened.aclose


@asynccontextmanager
async def open_databases(settings: Settings) -> AsyncIterator[Mapping[str, Database]]:
    """Open the database of every shard that the directory names, by the shards' names, and close them in the end.

    Raises:
        ConfigurationError: a setting or a shard's file is missing.
        Unavailable: the directory does not answer.
    """
    async with AsyncExitStack() as opened:
        opens = _databases(settings, opened)
        main = opens(None)
        yield {MAIN: main} | {shard.name: opens(shard) for shard in await _shards_of(main)}


async def read_shards(settings: Settings) -> Sequence[Shard]:
    """Return the shards beside the first, as the directory names them.

    Raises:
        Unavailable: the directory does not answer.
    """
    async with AsyncExitStack() as opened:
        return await _shards_of(_databases(settings, opened)(None))


async def open_tenant_database(settings: Settings, tenant_id: str) -> tuple[Database, Close]:
    """Open the database of the shard where a tenant lives; the second value closes it.

    Raises:
        ConfigurationError: a setting or the shard's file is missing.
        ShardUnavailable: the directory does not name the shard.
        Unavailable: the directory does not answer.
    """
    async with AsyncExitStack() as opened:
        opens = _databases(settings, opened)
        main = opens(None)
        shard = await _shard_of_tenant(main, tenant_id)
        database = main if shard is None else opens(shard)
        return database, opened.pop_all().aclose


def _databases(settings: Settings, opened: AsyncExitStack) -> Callable[[Shard | None], Database]:
    """Return what opens the database of a shard, or that of the settings; ``opened`` closes what it opens."""
    if settings.on_cloudflare:
        client = build_client(settings, Metrics())
        opened.push_async_callback(client.close)
        return lambda shard: D1Database(client, _shard_database_id(settings, shard))

    def open_file(shard: Shard | None) -> SqliteDatabase:
        file = _open_file(settings, shard)
        opened.push_async_callback(file.close)
        return SqliteDatabase(file)

    return open_file


async def _shard_of_tenant(main: Database, tenant_id: str) -> Shard | None:
    """Return the shard where a tenant lives; None where it lives in the database of the settings."""
    shards = await _shards_of(main)
    (rows,) = await main.run([directory.read_place(tenant_id)]) if shards else ([],)
    place = directory.read_places(rows) or Place()
    if place.shard == MAIN:
        return None
    named = next((shard for shard in shards if shard.name == place.shard), None)
    if named is None:
        raise ShardUnavailable(f"The shard {place.shard}, where the tenant lives, is not in the directory.")
    return named


async def _shards_of(main: Database) -> Sequence[Shard]:
    """Read the shards; an older database, which was never migrated to have some, has none."""
    (made,) = await main.run([Statement("SELECT name FROM sqlite_master WHERE name = 'shards'")])
    if not made:
        return ()
    (rows,) = await main.run([directory.READ_SHARDS])
    return directory.read_shards(rows)


@dataclass(frozen=True, slots=True)
class _Stack:
    """The database and the indexes of one shard, and how to close them."""

    database: Database
    stored_bytes: Callable[[], Awaitable[int]]
    open_index: Callable[[EmbeddingConfig], IndexAdmin]
    prepare_index: Callable[[EmbeddingConfig], Awaitable[None]]
    close: Close
    pace: Pace


@dataclass(frozen=True, slots=True)
class _Account:
    """What the process has of its Cloudflare account: its client, and its part of the calls."""

    client: CloudflareClient
    charge: Charge
    calls: ProcessCalls
    shares: CallShares


def _local_stack(settings: Settings, shard: Shard | None = None) -> _Stack:
    file = _open_file(settings, shard)

    def open_index(config: EmbeddingConfig) -> SqliteVectorIndex:
        return SqliteVectorIndex(file, config, cache_bytes=settings.index_cache_bytes)

    return _Stack(
        database=SqliteDatabase(file),
        stored_bytes=file.stored_bytes,
        open_index=open_index,
        prepare_index=lambda config: open_index(config).prepare(),
        close=file.close,
        pace=Pace(),
    )


def _open_account(settings: Settings, metrics: Metrics, name: str) -> _Account:
    """Open what the process has of its account once, however many shards it serves."""
    limit = settings.cloudflare_calls_per_window
    budget = CallBudget(limit or None, unleased=UNLEASED)
    tenants = TenantCalls(budget, settings.tenant_call_weights)
    client = build_client(settings, metrics, budget)
    first = D1Database(client.for_shares(), _database_id(settings))
    shares = CallShares(first, budget, replica=name, limit=limit - RESERVE)
    return _Account(client, tenants.charge, ProcessCalls(tenants.admit, low=lambda: budget.low), shares)


def _cloudflare_stack(settings: Settings, account: _Account, shard: Shard | None = None) -> _Stack:
    """Open the shard's database and its indexes; without one, those of the settings."""
    database_id, client = _shard_database_id(settings, shard), account.client
    database = D1Database(client, database_id, reads=settings.cloudflare_d1_reads)

    def open_index(config: EmbeddingConfig) -> VectorizeIndex:
        name = None if shard is None else config.index_name_in(shard.name)
        return VectorizeIndex(client, config, filterable=settings.filterable_metadata, name=name)

    async def left_open() -> None:
        """Close nothing: the first shard closes the client."""

    async def prepare_index(config: EmbeddingConfig) -> None:
        (await client.discover()).check(
            database_id, config.index_name if shard is None else config.index_name_in(shard.name)
        )
        await open_index(config).check()

    return _Stack(
        database=CoalescingDatabase(database, account.charge),
        stored_bytes=database.stored_bytes,
        open_index=lambda config: CoalescingIndex(open_index(config), account.charge),
        prepare_index=prepare_index,
        close=client.close if shard is None else left_open,
        pace=_METERED,
    )


def _opener(
    settings: Settings, own: PlainEmbedder, account: _Account | None, metrics: Metrics, closers: list[Close]
) -> Callable[[EmbeddingConfig], Embedder | None]:
    """Return what opens an embedder for a config that the data has and the settings do not name, if it can.

    ``own`` is the embedder of the settings: it is opened once, however many prefixes its model is used with.
    """
    client, charge = (None, charge_nobody) if account is None else (account.client, account.charge)

    def opened(config: EmbeddingConfig) -> Embedder | None:
        plain = config.without_document_prefix
        named: dict[str, object] = {"embedder": plain.provider}
        if plain.provider in {"openai", "workers-ai"}:
            shortened = plain.dimensions if plain.shortened else None
            named |= {"embedding_model": plain.model, "embedding_dimensions": shortened}
        try:
            other = settings.model_copy(update=named)
            embedder = own if own.config == plain else _plain_embedder(other, client, metrics, charge)
        except ConfigurationError:  # a key or a model is missing: the caller says what cannot be served
            return None
        given = {"query": settings.embedding_query_prefix, "document": settings.embedding_document_prefix}
        with_prefixes = (prefixed(embedder, prefixes) for prefixes in Prefixes.of_data(plain.model, **given))
        found = next((each for each in with_prefixes if each.config == config), None)
        if found is not None and embedder is not own:
            closers.insert(0, embedder.close)
        return found

    return opened


def _query_prefix(embedder: Embedder) -> str:
    return embedder.query_prefix if isinstance(embedder, PrefixedEmbedder) else ""


def _pace(settings: Settings, usual: Pace) -> Pace:
    seconds = settings.indexer_seconds
    return usual if seconds is None else replace(usual, indexer_seconds=seconds)


def _process_name() -> str:
    """Name this process as no other: where it runs, and which of all that ran there."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def _local_embedder(settings: Settings) -> TransformerEmbedder | HashingEmbedder:
    model_dir = settings.local_model_dir or packaged_model_dir()
    if model_dir is not None:
        return TransformerEmbedder(model_dir)
    structlog.get_logger().warning(
        "no_model_weights",
        effect="memories are found by their words, not by their meaning",
        cure="install deploy/lock/model.txt or set LOCAL_MODEL_DIR",
    )
    return HashingEmbedder()


def _shard_database_id(settings: Settings, shard: Shard | None) -> str:
    if shard is None:
        return _database_id(settings)
    if shard.database_id is None:
        raise ConfigurationError("It has no database: it was added without Cloudflare.")
    return shard.database_id


def _database_id(settings: Settings) -> str:
    given = {
        "CLOUDFLARE_ACCOUNT_ID": settings.cloudflare_account_id,
        "CLOUDFLARE_API_TOKEN": settings.cloudflare_api_token,
        "CLOUDFLARE_D1_DATABASE_ID": settings.cloudflare_d1_database_id,
    }
    if not (settings.cloudflare_d1_database_id and all(given.values())):
        raise ConfigurationError(_missing(given))
    return settings.cloudflare_d1_database_id


def _missing(given: dict[str, str | None]) -> str:
    missing = [name for name, value in given.items() if not value]
    present = [name for name, value in given.items() if value]
    because = f", while {' and '.join(present)} {'is' if len(present) == 1 else 'are'}" if present else ""
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set{because}."


def _open_file(settings: Settings, shard: Shard | None = None) -> SqliteFile:
    """Open the file of a shard; one beside the first has to be there already.

    Raises:
        ConfigurationError: it is not: memories would seem to be gone.
    """
    path = _data_dir(settings) / DATABASE_FILE
    if shard is not None:
        path = shard_file(settings, shard.name)
        if not path.exists():
            raise ConfigurationError(f"Its file {path} is missing.")
    if reachable := open_to_others(path):
        structlog.get_logger().warning("data_open_to_others", reachable=reachable)
    return SqliteFile(path)


def _data_dir(settings: Settings) -> Path:
    """Return the data directory, which is made where absent."""
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ConfigurationError(f"DATA_DIR {settings.data_dir} is not a directory.") from error
    except OSError as error:
        raise ConfigurationError(f"DATA_DIR {settings.data_dir} cannot be made: {error.strerror}.") from error
    return settings.data_dir


def shard_file(settings: Settings, name: str) -> Path:
    """Return the path of a shard's file on the embedded default; its folder is made where absent."""
    folder = _data_dir(settings) / SHARDS_FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{name}.sqlite3"


def wall_clock() -> int:
    """Return now in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
