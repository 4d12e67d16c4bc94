"""The ``LanguageModel`` port on a server that speaks OpenAI's chat completions.

The server may be OpenAI, directly or through Cloudflare's AI Gateway, or Ollama, llama.cpp, vLLM and others.
https://platform.openai.com/docs/api-reference/chat/create
"""

from collections.abc import Mapping
from typing import Literal

import httpx

from app.adapters.breaker import Breakers
from app.adapters.completions import (
    CALL_SECONDS,
    GONE,
    MAX_ANSWER_BYTES,
    ChatCompletions,
    Post,
    no_such_model,
    refusal,
)
from app.adapters.model_requests import Dialect
from app.adapters.refusals import read_http_refusal
from app.adapters.upstream import Call, Upstream
from app.domain.errors import MemoryGatewayError, UpstreamRejected
from app.observability.metrics import Metrics
from app.ports.language_model import Stage

_PATH = "/chat/completions"
_NO_SUCH_MODEL = {"model_not_found", "model_not_available", "model_deprecated", "model_decommissioned"}
_UNFIT = {400, 422}
_NO_NAME = "LANGUAGE_MODEL_NAME is not set: the server may need it. Check LANGUAGE_MODEL_BASE_URL too."


class HttpLanguageModel(ChatCompletions):
    """Asks over HTTP, with a key where the server wants one."""

    def __init__(
        self,
        models: Mapping[Stage, str | None],
        *,
        base_url: str,
        metrics: Metrics,
        api_key: str | None = None,
        seconds: float = CALL_SECONDS,
        provider: Literal["http", "openai"] = "http",
        breakers: Breakers | None = None,
    ) -> None:
        """Open no connection yet; a server of one model may need no names of models."""
        limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
        if provider == "openai":  # its newer models refuse max_tokens
            limit = "max_completion_tokens"
        super().__init__(models, metrics, breakers or Breakers(metrics), seconds=seconds, dialect=Dialect(limit=limit))
        self.provider = provider
        self._upstream = Upstream(
            "The language model",
            base_url=base_url,
            headers={} if api_key is None else {"Authorization": f"Bearer {api_key}"},
            seconds=seconds,
            metrics=metrics,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()

    async def _post(self, post: Post) -> bytes:
        operation = f"{self.provider}.chat"
        call = Call(
            operation,
            "POST",
            _PATH,
            post.body,
            seconds=post.seconds,
            headers=post.headers,
            max_bytes=MAX_ANSWER_BYTES,
            breaker=post.breaker,
            counts=post.counts,
            sent=post.sent,
            model=post.model,
            provider=self.provider,
            task="chat",
        )
        with self._upstream.measured(call):
            response = await self._upstream.send(call)
            if not response.is_success:
                raise _error(response, self.name(post.stage), named=post.model is not None)
            return response.content


def _error(response: httpx.Response, name: str, *, named: bool) -> MemoryGatewayError:
    """Map a refusal to an error; ``named``: whether the call named a model."""
    refused = read_http_refusal(response, name, "language model")
    error = refused.limit_or_key("LANGUAGE_MODEL_API_KEY")
    if error is not None:
        return error
    is_gone = refused.status in GONE or refused.kind in _NO_SUCH_MODEL or refused.parameter == "model"
    if is_gone and named:
        return no_such_model(name, refused.detail)
    cure = _NO_NAME if is_gone or (refused.status in _UNFIT and not named) else None
    if is_gone:
        return UpstreamRejected(refused.detail, cure=cure)
    return refusal(refused.status, refused.detail, f"{refused.parameter} {refused.message}", cure=cure)
