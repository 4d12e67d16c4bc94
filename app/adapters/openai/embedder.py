"""The ``Embedder`` port on OpenAI's embeddings endpoint, or a compatible one (AI Gateway, Azure-style proxies).

https://platform.openai.com/docs/api-reference/embeddings/create
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from app.adapters import windows
from app.adapters.breaker import Breakers
from app.adapters.openai.call_meter import CallMeter
from app.adapters.refusals import read_http_refusal
from app.adapters.upstream import Call, Upstream
from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import ConfigurationError, UpstreamRejected
from app.domain.query import RECALL_PART_SECONDS
from app.observability.metrics import Metrics
from app.ports.embedder import Embeddings, Purpose

BASE_URL = "https://api.openai.com/v1"
CALL_SECONDS = 10.0
"""The deadline of a call for documents."""

_NATIVE: Mapping[str, int] = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
_MAX_DIMENSIONS = 1536
"""The limit of Vectorize."""
_SHORTENABLE = "text-embedding-3"

# The API accepts 8,192 tokens per input, 2,048 inputs and 300,000 tokens per call.
_WINDOW_BYTES = 8_000
_INPUTS = 2_048
_CALL_BYTES = 300_000

_OPERATION = "openai.embeddings"


class OpenAIEmbedder:
    """Embeds over HTTP. The models do not distinguish between a query and a document."""

    def __init__(  # noqa: PLR0913 - what an operator says of one service
        self,
        *,
        api_key: str,
        metrics: Metrics,
        model: str = "text-embedding-3-small",
        dimensions: int | None = None,
        base_url: str = BASE_URL,
        seconds: float = CALL_SECONDS,
        query_seconds: float = RECALL_PART_SECONDS,
        calls_per_minute: int | None = None,
        breakers: Breakers | None = None,
    ) -> None:
        """Open no connection yet; without ``dimensions`` use the model's own, up to the limit of Vectorize.

        ``seconds`` is the deadline of a call for documents, ``query_seconds`` that of one for queries.
        ``calls_per_minute`` is how many calls the API takes from this process; None: calls are not counted.

        Raises:
            ConfigurationError: the dimensions are neither given nor known, or the model does not support them.
        """
        native = _NATIVE.get(model)
        size = dimensions or (min(native, _MAX_DIMENSIONS) if native else None)
        if size is None:
            raise ConfigurationError(f"The dimensions of {model} are not known here: set EMBEDDING_DIMENSIONS.")
        if native is not None and (size > native or (size < native and not model.startswith(_SHORTENABLE))):
            raise ConfigurationError(f"{model} does not make vectors of {size} dimensions.")
        self._config = EmbeddingConfig("openai", model, size, shortened=native is not None and size != native)
        self._metrics = metrics
        self._meter = CallMeter(calls_per_minute)
        self._seconds: Mapping[Purpose, float] = {"document": seconds, "query": query_seconds}
        self._breakers = breakers or Breakers(metrics)
        if calls_per_minute is not None:
            metrics.budgets.embedding(self._meter.left)
        self._upstream = Upstream(
            "OpenAI",
            base_url=base_url,
            headers={"Authorization": f"Bearer {api_key}"},
            seconds=seconds,
            metrics=metrics,
        )

    @property
    def config(self) -> EmbeddingConfig:
        """Return the embedding config of its vectors."""
        return self._config

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        """Embed each text, regardless of the purpose; a failed call is left to the caller to retry.

        The purpose sets the deadline of a call: a recall waits for a query.
        """
        del tenant_id
        parts = windows.split(texts, _WINDOW_BYTES)
        vectors: list[Vector] = []
        tokens: int | None = 0
        for batch in windows.batches(parts, limit=_INPUTS, max_bytes=_CALL_BYTES):
            embedded = await self._call([window.content for window in batch], purpose)
            vectors += embedded.vectors
            tokens = None if tokens is None or embedded.tokens is None else tokens + embedded.tokens
        return Embeddings(windows.average(parts, vectors, self._config.dimensions), tokens)

    async def ping(self) -> None:
        """Embed one word."""
        await self._call(["ping"], "query")

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()

    async def _call(self, inputs: list[str], purpose: Purpose) -> Embeddings:
        body: dict[str, Any] = {"model": self._config.model, "input": inputs, "encoding_format": "base64"}
        if self._config.model.startswith(_SHORTENABLE):
            body["dimensions"] = self._config.dimensions
        breaker = self._breakers.of(f"openai.{purpose}")
        breaker.check()
        call = Call(
            _OPERATION,
            "POST",
            "/embeddings",
            orjson.dumps(body),
            seconds=self._seconds[purpose],
            breaker=breaker,
            model=self._config.model,
            provider="openai",
            task="embeddings",
        )
        with self._upstream.measured(call):
            self._meter.take()
            response = await self._upstream.send(call)
            if not response.is_success:
                raise read_http_refusal(response, "OpenAI", "openai").error("OPENAI_API_KEY")
            embedded = _embeddings(self._upstream.read_json(response), len(inputs))
        if embedded.tokens is not None:
            self._metrics.upstream.tokens(self._config.model, embedded.tokens)
        return embedded


def _embeddings(answer: Any, count: int) -> Embeddings:  # noqa: ANN401 - whatever JSON holds
    """Read the response to ``count`` inputs; the order of its vectors is not specified, each has its index."""
    try:
        by_place = {item["index"]: _vector(item["embedding"]) for item in answer["data"]}
        vectors = [by_place[place] for place in range(count)]
        tokens = (answer.get("usage") or {}).get("total_tokens")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UpstreamRejected("OpenAI's answer has not the form it should have.") from error
    if len(answer["data"]) != count:
        raise UpstreamRejected(f"OpenAI answered {count} inputs with {len(answer['data'])} vectors.")
    return Embeddings(vectors, tokens if isinstance(tokens, int) else None)


def _vector(embedding: str | list[float]) -> Vector:
    """Read a vector: little-endian float32 in base 64, or a list of numbers, which some proxies send instead."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float32)
    with np.errstate(over="ignore"):  # a value too large for float32 becomes infinite, and is refused
        return np.array(embedding, np.float32)
