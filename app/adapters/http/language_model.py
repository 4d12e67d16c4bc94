"""The ``LanguageModel`` port on a server that speaks OpenAI's chat completions.

OpenAI itself, or through Cloudflare's AI Gateway; Ollama, llama.cpp, vLLM and others, by their base URLs.
https://platform.openai.com/docs/api-reference/chat/create
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import httpx
import orjson
import structlog

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
from app.adapters.upstream import Call, Upstream
from app.domain.errors import CredentialsRefused, MemoryGatewayError, QuotaExhausted, RateLimited, UpstreamRejected
from app.observability.metrics import Metrics
from app.ports.language_model import Stage

_PATH = "/chat/completions"
_TOO_MANY = 429
_OUT_OF_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "credit_balance_exhausted"}
_NO_SUCH_MODEL = {"model_not_found", "model_not_available", "model_deprecated", "model_decommissioned"}
_UNFIT = {400, 422}
_NO_NAME = "LANGUAGE_MODEL_NAME is not set: the server may need it. Check LANGUAGE_MODEL_BASE_URL too."
_WAIT_SECONDS = 5
_MAX_DIGITS = 6
_KIND = re.compile(r"[A-Za-z0-9_.-]{1,64}")


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
        )
        with self._upstream.measured(operation):
            response = await self._upstream.send(call)
            if not response.is_success:
                raise _error(response, self.name(post.stage), named=post.model is not None)
            return response.content


def _error(response: httpx.Response, name: str, *, named: bool) -> MemoryGatewayError:
    """Map a refusal to an error. Its message is left out: servers quote what they refuse, OpenAI also its key.

    ``named``: whether the call named a model.
    """
    status = response.status_code
    kind, parameter, message = _reason(response)
    said = f"{name} answered {status} ({kind})."
    if kind in _OUT_OF_CREDIT:
        structlog.get_logger().error("quota_exhausted", upstream="language model", code=kind)
        return QuotaExhausted(said)
    if status == _TOO_MANY:
        return RateLimited(said, retry_after=_retry_after(response))
    if status in {401, 403}:
        structlog.get_logger().error("credentials_refused", upstream="language model", status=status, code=kind)
        return CredentialsRefused(
            f"{name} refused the API key ({status}, {kind}).", cure="Check LANGUAGE_MODEL_API_KEY."
        )
    is_gone = status in GONE or kind in _NO_SUCH_MODEL or parameter == "model"
    if is_gone and named:
        return no_such_model(name, said)
    cure = _NO_NAME if is_gone or (status in _UNFIT and not named) else None
    if is_gone:
        return UpstreamRejected(said, cure=cure)
    return refusal(status, said, f"{parameter} {message}", cure=cure)


def _reason(response: httpx.Response) -> tuple[str, str, str]:
    """Return the error's code or type, where it is a mere name, its parameter, and its message."""
    try:
        body = orjson.loads(response.content)
    except ValueError:
        return "no code", "", ""
    error = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "no code", "", str(error or "")
    message = str(error.get("message") or error.get("detail") or "")
    return _code(error), str(error.get("param") or ""), message


def _code(error: Mapping[str, Any]) -> str:
    """Return an error's code or type; of both the one that says that the account is out of credit."""
    kinds = [error.get("type"), error.get("code")]
    out_of_credit = next((kind for kind in kinds if kind in _OUT_OF_CREDIT), None)
    kind = str(out_of_credit or error.get("code") or error.get("type") or "")
    return kind if _KIND.fullmatch(kind) else "no code"


def _retry_after(response: httpx.Response) -> int:
    value = response.headers.get("retry-after", "")
    return int(value) if value.isdecimal() and len(value) <= _MAX_DIGITS else _WAIT_SECONDS
