"""The ``Embedder`` port on Cloudflare Workers AI.

https://developers.cloudflare.com/workers-ai/models/ lists the models and their limits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import structlog

from app.adapters import windows
from app.adapters.cloudflare.client import PROVIDER, CloudflareClient
from app.adapters.cloudflare.responses import Refusal
from app.adapters.upstream import Call
from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import (
    ConfigurationError,
    MemoryGatewayError,
    QuotaExhausted,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
)
from app.domain.query import RECALL_PART_SECONDS
from app.ports.embedder import Embeddings, Purpose

CALL_SECONDS = 10.0
"""The deadline of a call for documents."""

_OPERATION = "ai.run"
_CALL_BYTES = 300_000

# https://developers.cloudflare.com/workers-ai/platform/errors/
_DAILY_ALLOCATION_USED = 3036
_OUT_OF_CAPACITY = 3040
_TIMEOUTS = {3007, 3008}


@dataclass(frozen=True, slots=True)
class _Model:
    """The limits of one model; ``splits``: the model embeds a query differently from a document."""

    dimensions: int
    window_bytes: int
    inputs: int = 100
    splits: bool = False


_MODELS: Mapping[str, _Model] = {
    "@cf/baai/bge-m3": _Model(1024, 8_000),
    "@cf/qwen/qwen3-embedding-0.6b": _Model(1024, 8_000, inputs=32, splits=True),
    "@cf/google/embeddinggemma-300m": _Model(768, 2_000),
    "@cf/baai/bge-small-en-v1.5": _Model(384, 500),
    "@cf/baai/bge-base-en-v1.5": _Model(768, 500),
    "@cf/baai/bge-large-en-v1.5": _Model(1024, 500),
}


class WorkersAIEmbedder:
    """Embeds with a model of the account, with the client and the call budget of D1 and Vectorize."""

    def __init__(
        self,
        client: CloudflareClient,
        model: str = "@cf/baai/bge-m3",
        *,
        query_seconds: float = RECALL_PART_SECONDS,
    ) -> None:
        """Use a client that the caller closes; a call for queries has ``query_seconds``.

        Raises:
            ConfigurationError: the model is not supported.
        """
        if model not in _MODELS:
            raise ConfigurationError(f"EMBEDDING_MODEL {model} is not one of {', '.join(sorted(_MODELS))}.")
        self._client = client
        self._model = _MODELS[model]
        self._config = EmbeddingConfig("workers-ai", model, self._model.dimensions)
        self._seconds: Mapping[Purpose, float] = {"document": CALL_SECONDS, "query": query_seconds}

    @property
    def config(self) -> EmbeddingConfig:
        """Return the embedding config of its vectors."""
        return self._config

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        """Embed each text; a failed call is not retried."""
        del tenant_id
        parts = windows.split(texts, self._model.window_bytes)
        vectors: list[Vector] = []
        for batch in windows.batches(parts, limit=self._model.inputs, max_bytes=_CALL_BYTES):
            vectors += await self._call([window.content for window in batch], purpose)
        return Embeddings(windows.average(parts, vectors, self._config.dimensions))

    async def ping(self) -> None:
        """Embed one word."""
        await self._call(["ping"], "query")

    async def close(self) -> None:
        """Do nothing: the caller closes the client."""

    async def _call(self, inputs: list[str], purpose: Purpose) -> list[Vector]:
        field = {"query": "queries", "document": "documents"}[purpose] if self._model.splits else "text"
        call = Call(
            _OPERATION,
            "POST",
            f"/ai/run/{self._config.model}",
            orjson.dumps({field: inputs}),
            seconds=self._seconds[purpose],
            breaker=self._client.breakers.of(f"workers-ai.{purpose}"),
            quotable=False,
            model=self._config.model,
            provider=PROVIDER,
            task="embeddings",
        )
        return _vectors((await self._client.call(call, meaning)).result)


def _vectors(result: Any) -> list[Vector]:  # noqa: ANN401 - whatever JSON holds
    try:
        with np.errstate(over="ignore"):  # a value too large for float32 becomes infinite, and is refused
            return [np.array(values, np.float32) for values in result["data"]]
    except (KeyError, TypeError, ValueError) as error:
        raise UpstreamRejected("Workers AI's answer has not the form it should have.") from error


def meaning(refusal: Refusal) -> MemoryGatewayError | None:
    """Map the product's codes: both an exhausted allocation and missing capacity have the status 429.

    The reason of a refusal is left out: it may repeat the texts that were sent.
    """
    said = f"Workers AI answered {refusal.status}/{refusal.code}: {{}}."
    if refusal.code == _DAILY_ALLOCATION_USED:
        structlog.get_logger().error("quota_exhausted", upstream="workers-ai", code=refusal.code)
        return QuotaExhausted(said.format("the account's daily allocation is used up"))
    if refusal.code == _OUT_OF_CAPACITY:
        return UpstreamOverloaded(said.format("it has no capacity left"))
    if refusal.code in _TIMEOUTS:
        return UpstreamTimeout(said.format("it took too long"))
    return None
