"""Maps refusals of servers that use OpenAI's form of errors to errors of the tree.

https://platform.openai.com/docs/guides/error-codes
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx
import orjson
import structlog

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

_UNPAID, _TOO_MANY = 402, 429
_BUSY = {503, 529}
_TIMEOUTS = {408, 504}
_SERVER_ERRORS = 500
_OUT_OF_CREDIT: Final = {"insufficient_quota", "billing_hard_limit_reached", "credit_balance_exhausted"}
_NAME = re.compile(r"(?!sk-)[A-Za-z0-9_.-]{1,64}")
"""A mere name, and no key of OpenAI."""
_WAIT_SECONDS = 5
_MAX_DIGITS = 6


@dataclass(frozen=True, slots=True)
class HttpRefusal:
    """A refused call. Its message is never shown: servers quote the texts that they refuse, OpenAI also its key."""

    service: str
    """The name of the service, for operators."""
    upstream: str
    """The name of the service in logs."""
    status: int
    kind: str
    """The error's code or type, where it is a mere name."""
    parameter: str
    message: str
    retry_after: int

    @property
    def detail(self) -> str:
        """The text about the refusal that may be shown."""
        return f"{self.service} answered {self.status} ({self.kind})."

    def limit_or_key(self, key: str) -> MemoryGatewayError | None:
        """Return the error of a credit, a rate or the key that the setting ``key`` holds; None for others.

        A 429 means too many calls, or no credit left, which waiting does not restore.
        """
        if self.kind in _OUT_OF_CREDIT:
            return _quota_exhausted(self.upstream, self.detail, code=self.kind)
        if self.status == _TOO_MANY:
            return RateLimited(self.detail, retry_after=self.retry_after)
        if self.status in {401, 403}:
            structlog.get_logger().error(
                "credentials_refused", upstream=self.upstream, status=self.status, code=self.kind
            )
            refused = f"{self.service} refused the API key ({self.status}, {self.kind})."
            return CredentialsRefused(refused, cure=f"Check {key}.")
        return None

    def error(self, key: str) -> MemoryGatewayError:
        """Return the error of the refusal, where the server gives no status a meaning of its own."""
        return self.limit_or_key(key) or by_status(self.status, self.detail, upstream=self.upstream)


def read_http_refusal(response: httpx.Response, service: str, upstream: str) -> HttpRefusal:
    """Read a refused call of a service: ``{"error": {...}}``, or the error alone as some servers answer it."""
    try:
        body = orjson.loads(response.content)
    except ValueError:
        body = None
    error = body.get("error", body) if isinstance(body, dict) else None
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {"message": error}
    return HttpRefusal(
        service,
        upstream,
        response.status_code,
        _kind(fields),
        str(fields.get("param") or ""),
        str(fields.get("message") or fields.get("detail") or ""),
        _retry_after(response),
    )


def by_status(status: int, detail: str, *, upstream: str, cure: str | None = None) -> MemoryGatewayError:
    """Map a refused call to an error by its status alone."""
    if status == _UNPAID:
        return _quota_exhausted(upstream, detail, status=status)
    if status in _BUSY:
        return UpstreamOverloaded(detail)
    if status in _TIMEOUTS:
        return UpstreamTimeout(detail)
    return UpstreamUnavailable(detail) if status >= _SERVER_ERRORS else UpstreamRejected(detail, cure=cure)


def _quota_exhausted(upstream: str, detail: str, **reason: str | int) -> QuotaExhausted:
    structlog.get_logger().error("quota_exhausted", upstream=upstream, **reason)
    return QuotaExhausted(detail)


def _kind(error: Mapping[str, Any]) -> str:
    """Return an error's code or type: that which says that the account is out of credit, else the code first."""
    kinds = [error.get("type"), error.get("code")]
    out_of_credit = next((kind for kind in kinds if isinstance(kind, str) and kind in _OUT_OF_CREDIT), None)
    kind = str(out_of_credit or error.get("code") or error.get("type") or "")
    return kind if _NAME.fullmatch(kind) else "no code"


def _retry_after(response: httpx.Response) -> int:
    value = response.headers.get("retry-after", "")
    return int(value) if value.isdecimal() and len(value) <= _MAX_DIGITS else _WAIT_SECONDS
