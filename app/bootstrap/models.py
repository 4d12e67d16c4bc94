"""Builds the embedder, the reader, the reranker and the language model that the settings choose."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from app.adapters.breaker import Breakers
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.workers_ai import WorkersAIEmbedder
from app.adapters.cloudflare.workers_ai_language_model import STRUCTURED_MODEL, SYNTHESIS_MODEL, WorkersAILanguageModel
from app.adapters.cloudflare.workers_ai_reranker import WorkersAIReranker
from app.adapters.coalescing.embedder import CoalescingEmbedder
from app.adapters.coalescing.gatherer import FREE, Metering
from app.adapters.http.language_model import HttpLanguageModel
from app.adapters.http.reranker import HttpReranker
from app.adapters.local.hashing import HashingEmbedder
from app.adapters.local.multilingual.installed import MULTILINGUAL_MODEL, multilingual_model_dir
from app.adapters.local.reader.local_reader import PACKAGED, LocalReader
from app.adapters.local.transformer import TransformerEmbedder, packaged_model_dir
from app.adapters.openai.embedder import OpenAIEmbedder
from app.adapters.prefixed import PrefixedEmbedder, Prefixes, prefixed
from app.bootstrap.account import Close, ProcessAccount, build_client
from app.bootstrap.cores import embedding_calls_of_worker, threads_of_worker
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import ConfigurationError
from app.observability.metrics import Metrics
from app.ports.embedder import Embedder
from app.ports.language_model import STAGES
from app.settings import Settings

_USUAL_MODELS: Final = dict.fromkeys(STAGES, STRUCTURED_MODEL) | {"synthesise": SYNTHESIS_MODEL}
"""The models that Workers AI is asked for where the settings name none, by stage."""

PlainEmbedder = TransformerEmbedder | HashingEmbedder | CoalescingEmbedder


OwnedEmbedder = PlainEmbedder | PrefixedEmbedder


OwnedReranker = HttpReranker | WorkersAIReranker


OwnedLanguageModel = HttpLanguageModel | WorkersAILanguageModel


def build_embedder(
    settings: Settings, client: CloudflareClient | None = None, metrics: Metrics | None = None
) -> OwnedEmbedder:
    """Choose the embedder, with the prefixes that its texts need.

    Raises:
        ConfigurationError: the embedder lacks a setting, or the model is not known.
    """
    return with_prefixes(settings, plain_embedder(settings, client, metrics or Metrics(), None))


def with_prefixes(settings: Settings, embedder: PlainEmbedder) -> OwnedEmbedder:
    """Return the embedder with the prefixes of texts that its model was trained with, or that the settings name."""
    query, document = settings.embedding_query_prefix, settings.embedding_document_prefix
    return prefixed(embedder, Prefixes.of_model(embedder.config.model, query=query, document=document))


def plain_embedder(
    settings: Settings,
    client: CloudflareClient | None,
    metrics: Metrics,
    breakers: Breakers | None,
    metering: Metering = FREE,
) -> PlainEmbedder:
    """Choose the embedder; the local embedder falls back to hashing, with a warning, where no weights are present."""
    chosen, query_seconds = settings.chosen_embedder, settings.recall_part_seconds
    if chosen == "openai":
        if not settings.openai_api_key:
            raise ConfigurationError("EMBEDDER is openai, but OPENAI_API_KEY is not set.")
        openai = OpenAIEmbedder(
            api_key=settings.openai_api_key,
            metrics=metrics,
            model=settings.embedding_model or "text-embedding-3-small",
            dimensions=settings.embedding_dimensions,
            base_url=settings.openai_base_url,
            query_seconds=query_seconds,
            calls_per_minute=embedding_calls_of_worker(settings),
            breakers=breakers,
        )
        return CoalescingEmbedder(openai, query_seconds=query_seconds)
    if chosen == "workers-ai":
        model = settings.embedding_model or "@cf/baai/bge-m3"
        client = client or build_client(settings, metrics)
        embedder = WorkersAIEmbedder(client, model, query_seconds=query_seconds)
        return CoalescingEmbedder(embedder, metering, query_seconds=query_seconds)
    if chosen == "local-multilingual":
        return _multilingual_embedder(settings)
    return HashingEmbedder() if chosen == "hashing" else _local_embedder(settings)


def build_reranker(
    settings: Settings, client: CloudflareClient | None, metrics: Metrics, breakers: Breakers
) -> OwnedReranker | None:
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
        breakers=breakers,
    )


def build_reader(
    settings: Settings, directory: Path = PACKAGED, *, beside: PlainEmbedder | None = None
) -> LocalReader | None:
    """Choose the reader, whose trunk is the packaged embedding model; None where the settings name none.

    The embedder ``beside`` it lends the reader its tokenizer, where it is the trunk.
    With ``auto`` the result is also None where the reader, or its trunk, is not installed.

    Raises:
        ConfigurationError: the weights of the reader or of its trunk are missing or broken, or do not fit each other.
    """
    if settings.reader == "none":
        return None
    trunk = packaged_model_dir() or settings.local_model_dir
    if settings.reader == "auto" and (trunk is None or not directory.is_dir()):
        structlog.get_logger().info(
            "no_reader", reason="The reader, or the packaged embedding model, is not installed."
        )
        return None
    if trunk is None:
        raise ConfigurationError(
            "READER is local, but the embedding model that it needs is not installed: install deploy/lock/model.txt. "
            "READER=none serves without it."
        )
    try:
        tokenizer = beside.tokenizer_of(trunk) if isinstance(beside, TransformerEmbedder) else None
        return LocalReader(trunk, directory, tokenizer=tokenizer)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"READER is {settings.reader}: {error.detail} READER=none serves without it."
        ) from error


def build_language_model(
    settings: Settings, client: CloudflareClient | None, metrics: Metrics, breakers: Breakers
) -> OwnedLanguageModel | None:
    """Choose the language model; None where the settings name none.

    Raises:
        ConfigurationError: the language model lacks a setting.
    """
    if settings.language_model == "none":
        return None
    named = {stage: settings.language_model_names.get(stage, settings.language_model_name) for stage in STAGES}
    seconds = settings.language_model_seconds
    if settings.language_model == "workers-ai":
        models = {stage: name or _USUAL_MODELS[stage] for stage, name in named.items()}
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
        breakers=breakers,
    )


def opener(
    settings: Settings,
    own: PlainEmbedder,
    account: ProcessAccount | None,
    metrics: Metrics,
    breakers: Breakers,
    closers: list[Close],
) -> Callable[[EmbeddingConfig], Embedder | None]:
    """Return a function that opens the embedder of a config, for data whose config the settings do not name.

    It returns None where this process cannot embed with the config. ``own`` is the embedder of the settings: it is
    opened once, however many prefixes its model is used with.
    """
    client, metering = (None, FREE) if account is None else (account.client, account.metering)

    def opened(config: EmbeddingConfig) -> Embedder | None:
        plain = config.without_document_prefix
        named: dict[str, object] = {"embedder": plain.provider}
        if plain.provider == "local" and plain.model == MULTILINGUAL_MODEL:
            named["embedder"] = "local-multilingual"
        if plain.provider in {"openai", "workers-ai"}:
            shortened = plain.dimensions if plain.shortened else None
            named |= {"embedding_model": plain.model, "embedding_dimensions": shortened}
        try:
            other = settings.model_copy(update=named)
            embedder = own if own.config == plain else plain_embedder(other, client, metrics, breakers, metering)
        except ConfigurationError:  # a key or a model is missing: the caller names the config that cannot be served
            return None
        given = {"query": settings.embedding_query_prefix, "document": settings.embedding_document_prefix}
        with_prefixes = (prefixed(embedder, prefixes) for prefixes in Prefixes.of_data(plain.model, **given))
        found = next((prefix for prefix in with_prefixes if prefix.config == config), None)
        if found is not None and embedder is not own:
            closers.insert(0, embedder.close)
        return found

    return opened


def query_prefix(embedder: Embedder) -> str:
    """Return the prefix of each query."""
    return embedder.query_prefix if isinstance(embedder, PrefixedEmbedder) else ""


def _local_embedder(settings: Settings) -> TransformerEmbedder | HashingEmbedder:
    model_dir = settings.local_model_dir or packaged_model_dir()
    if model_dir is not None:
        return TransformerEmbedder(model_dir, threads=threads_of_worker(settings))
    structlog.get_logger().warning(
        "no_model_weights",
        effect="memories are found by their words, not by their meaning",
        cure="install deploy/lock/model.txt or set LOCAL_MODEL_DIR",
    )
    return HashingEmbedder()


def _multilingual_embedder(settings: Settings) -> TransformerEmbedder:
    """Open the multilingual model; nothing takes its place where it is not installed."""
    model_dir = multilingual_model_dir()
    if not model_dir.is_dir():
        raise ConfigurationError(
            "The multilingual model is not installed: make run LANGUAGES=multilingual installs it, or "
            "memory-gateway convert (docs/embedders.md)."
        )
    return TransformerEmbedder(model_dir, threads=threads_of_worker(settings))
