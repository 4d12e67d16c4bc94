"""The ``Reranker`` port on the rerank endpoint that Cohere, Jina, vLLM, llama.cpp and LiteLLM have in common.

https://docs.cohere.com/reference/rerank, https://docs.vllm.ai/en/stable/serving/openai_compatible_server/ (Re-rank API)
"""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from app.adapters.breaker import Breakers
from app.adapters.refusals import read_http_refusal
from app.adapters.relevance import COUNTED, clip, relevances
from app.adapters.upstream import Call, Upstream
from app.domain.errors import UpstreamRejected
from app.observability.metrics import Metrics

CALL_SECONDS = 2.0

_OPERATION = "http.rerank"


class HttpReranker:
    """Rates over HTTP, with a key where the service asks for one."""

    def __init__(
        self,
        *,
        base_url: str,
        metrics: Metrics,
        model: str | None = None,
        api_key: str | None = None,
        seconds: float = CALL_SECONDS,
        breakers: Breakers | None = None,
    ) -> None:
        """Open no connection yet; a server of one model may need no ``model``."""
        self._model = model
        self._seconds = seconds
        self._breaker = (breakers or Breakers(metrics)).of("reranker")
        self._upstream = Upstream(
            "The reranker",
            base_url=base_url,
            headers={} if api_key is None else {"Authorization": f"Bearer {api_key}"},
            seconds=seconds,
            metrics=metrics,
        )

    @property
    def name(self) -> str:
        """Return the provider and the model."""
        return "http" if self._model is None else f"http/{self._model}"

    async def rerank(
        self, query: str, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        """Rate each text with one call; a failed call is not retried."""
        del tenant_id
        if not texts:
            return []
        body: dict[str, Any] = {} if self._model is None else {"model": self._model}
        body |= {"query": clip(query), "documents": [clip(text) for text in texts], "top_n": len(texts)}
        given = seconds or self._seconds
        call = Call(
            _OPERATION,
            "POST",
            "/rerank",
            orjson.dumps(body),
            seconds=given,
            breaker=self._breaker,
            counts=given >= self._seconds * COUNTED,
            model=self._model,
            task="rerank",
        )
        self._breaker.check()
        with self._upstream.measured(call):
            response = await self._upstream.send(call)
            if not response.is_success:
                raise read_http_refusal(response, "The reranker", "reranker").error("RERANKER_API_KEY")
            return relevances(_scored(self._upstream.read_json(response)), len(texts))

    async def ping(self) -> None:
        """Rate one word."""
        await self.rerank("ping", ["ping"])

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()


def _scored(answer: Any) -> Iterator[tuple[object, object]]:  # noqa: ANN401 - whatever JSON holds
    """Read the results, which may be in any order."""
    try:
        for result in answer["results"]:
            yield result["index"], result["relevance_score"]
    except (KeyError, TypeError, IndexError) as error:
        raise UpstreamRejected("The reranker's answer has not the form it should have.") from error
