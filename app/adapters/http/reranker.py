"""The ``Reranker`` port on the rerank endpoint that Cohere, Jina, vLLM, llama.cpp and LiteLLM have in common.

https://docs.cohere.com/reference/rerank, https://docs.vllm.ai/en/stable/serving/openai_compatible_server/ (Re-rank API)
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import orjson
import structlog

from app.adapters.breaker import Breakers
from app.adapters.relevance import COUNTED, clip, relevances
from app.adapters.upstream import Call, Upstream
from app.domain.errors import (
    CredentialsRefused,
    MemoryGatewayError,
    QuotaExhausted,
    RateLimited,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics

CALL_SECONDS = 2.0

_OPERATION = "http.rerank"
_UNPAID = 402
_TOO_MANY = 429
_BUSY = {503, 529}
_TIMEOUTS = {408, 504}
_SERVER_ERRORS = 500
_WAIT_SECONDS = 5
_MAX_DIGITS = 6
_KIND = re.compile(r"[A-Za-z0-9_.-]{1,64}")


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
        )
        self._breaker.check()
        with self._upstream.measured(_OPERATION):
            response = await self._upstream.send(call)
            if not response.is_success:
                raise _error(response)
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


def _error(response: httpx.Response) -> MemoryGatewayError:
    """Map a refusal to an error. Its message is left out: some servers quote the texts that they refuse."""
    status, kind = response.status_code, _kind(response)
    said = f"The reranker answered {status} ({kind})."
    if status == _UNPAID:
        structlog.get_logger().error("quota_exhausted", upstream="reranker", code=kind)
        return QuotaExhausted(said)
    if status == _TOO_MANY:
        return RateLimited(said, retry_after=_retry_after(response))
    if status in {401, 403}:
        structlog.get_logger().error("credentials_refused", upstream="reranker", status=status, code=kind)
        return CredentialsRefused(
            f"The reranker refused the API key ({status}, {kind}).", cure="Check RERANKER_API_KEY."
        )
    if status in _BUSY:
        return UpstreamOverloaded(said)
    if status in _TIMEOUTS:
        return UpstreamTimeout(said)
    return UpstreamUnavailable(said) if status >= _SERVER_ERRORS else UpstreamRejected(said)


def _kind(response: httpx.Response) -> str:
    """Return the error's code or type where the service gives one that is a mere name."""
    try:
        error = orjson.loads(response.content)["error"]
        kind = str(error.get("code") or error.get("type"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return "no code"
    return kind if _KIND.fullmatch(kind) else "no code"


def _retry_after(response: httpx.Response) -> int:
    value = response.headers.get("retry-after", "")
    return int(value) if value.isdecimal() and len(value) <= _MAX_DIGITS else _WAIT_SECONDS
