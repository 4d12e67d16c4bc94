"""The ``Reranker`` port on Cloudflare Workers AI.

https://developers.cloudflare.com/workers-ai/models/bge-reranker-base/
"""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from app.adapters.cloudflare.client import PROVIDER, CloudflareClient
from app.adapters.cloudflare.workers_ai import meaning
from app.adapters.relevance import COUNTED, clip, relevances
from app.adapters.upstream import Call
from app.domain.errors import ConfigurationError, UpstreamRejected

CALL_SECONDS = 2.0

_OPERATION = "ai.rerank"
_MODELS = ("@cf/baai/bge-reranker-base",)


class WorkersAIReranker:
    """Rates with a model of the account, with the client and the call budget of D1 and Vectorize."""

    def __init__(self, client: CloudflareClient, model: str = _MODELS[0], *, seconds: float = CALL_SECONDS) -> None:
        """Use a client that the caller closes.

        Raises:
            ConfigurationError: the model is not supported.
        """
        if model not in _MODELS:
            raise ConfigurationError(f"RERANKER_MODEL {model} is not one of {', '.join(_MODELS)}.")
        self._client = client
        self._model = model
        self._seconds = seconds

    @property
    def name(self) -> str:
        """Return the provider and the model."""
        return f"workers-ai/{self._model}"

    async def rerank(
        self, query: str, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        """Rate each text with one call; a failed call is not retried."""
        del tenant_id
        if not texts:
            return []
        body = {"query": clip(query), "contexts": [{"text": clip(text)} for text in texts], "top_k": len(texts)}
        given = seconds or self._seconds
        call = Call(
            _OPERATION,
            "POST",
            f"/ai/run/{self._model}",
            orjson.dumps(body),
            seconds=given,
            breaker=self._client.breakers.of("reranker"),
            quotable=False,
            counts=given >= self._seconds * COUNTED,
            model=self._model,
            provider=PROVIDER,
            task="rerank",
        )
        answer = await self._client.call(call, meaning)
        return relevances(_scored(answer.result), len(texts))

    async def ping(self) -> None:
        """Rate one word."""
        await self.rerank("ping", ["ping"])

    async def close(self) -> None:
        """Do nothing: the caller closes the client."""


def _scored(result: Any) -> Iterator[tuple[object, object]]:  # noqa: ANN401 - whatever JSON holds
    """Read the results, which may be in any order."""
    try:
        for rated in result["response"]:
            yield rated["id"], rated["score"]
    except (KeyError, TypeError, IndexError) as error:
        raise UpstreamRejected("Workers AI's answer has not the form it should have.") from error
