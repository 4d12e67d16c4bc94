"""The one client for Cloudflare's REST API: credentials, envelope, meter, and the map of its errors."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import structlog

from app.adapters.cloudflare.meter import WINDOW_SECONDS, Meter
from app.adapters.upstream import Call, Upstream
from app.errors import (
    CredentialsRefused,
    MemoryGatewayError,
    RateLimited,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.model import milliseconds
from app.observability.metrics import Metrics

BASE_URL = "https://api.cloudflare.com/client/v4"
CALL_SECONDS = 10.0
"""The longest a call takes before it is given up."""

_REQUEST_TIMEOUT = 408
_TOO_MANY = 429
_SERVER_ERRORS = 500
_CREDENTIALS = {401, 403}
_FIGURE = re.compile(r'"(?P<policy>[^"]*)"\s*;\s*(?P<figures>[a-z]=\d+(?:\s*;\s*[a-z]=\d+)*)')
_FIGURES = {"r": "remaining", "t": "reset_seconds", "q": "quota", "w": "window_seconds"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call returned, and when by Cloudflare's clock (ms since the epoch)."""

    result: Any
    at: int
    info: Any = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that Cloudflare did not do, and its word on why."""

    status: int
    code: int
    message: str


RefusalMap = Callable[[Refusal], MemoryGatewayError | None]
"""One product's own meaning of a refusal; None where it has none."""


class CloudflareClient:
    """Calls within one account. All adapters of a process share it, so that one meter sees every call."""

    def __init__(
        self,
        *,
        account_id: str,
        api_token: str,
        meter: Meter,
        metrics: Metrics,
        base_url: str = BASE_URL,
        seconds: float = CALL_SECONDS,
    ) -> None:
        """Open nothing yet; ``seconds`` bounds a call that does not say otherwise."""
        self._account = f"/accounts/{account_id}"
        self._meter = meter
        self._metrics = metrics
        self._upstream = Upstream(
            "Cloudflare",
            base_url=base_url,
            headers={"Authorization": f"Bearer {api_token}"},
            seconds=seconds,
            metrics=metrics,
        )
        metrics.budget(meter.left)

    async def call(self, call: Call, meaning: RefusalMap | None = None) -> Answer:
        """Make one call, its path being relative to the account; ``meaning`` is asked first about a refusal.

        Raises:
            RateLimited: by the meter, before the call, or by Cloudflare.
            CredentialsRefused, UpstreamTimeout, UpstreamUnavailable, UpstreamRejected: as the tree says.
        """
        with self._upstream.measured(call.operation):
            self._meter.take()
            account_call = Call(
                call.operation,
                call.method,
                self._account + call.path,
                call.content,
                call.content_type,
                call.query,
                call.seconds,
            )
            response = await self._upstream.send(account_call)
            self._read_rate_limit(response)
            if response.status_code == _TOO_MANY and (error := self._rate_limited(call, response, meaning)):
                raise error
            return self._answer(call, response, meaning)

    def retried(self, operation: str) -> None:
        """Count that a call is about to be made again."""
        self._metrics.retry(operation)

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()

    def _answer(self, call: Call, response: httpx.Response, meaning: RefusalMap | None) -> Answer:
        if response.status_code >= _SERVER_ERRORS and not _is_json(response):
            raise UpstreamUnavailable(f"Cloudflare failed with {response.status_code} on {call.operation}.")
        body = self._upstream.read_json(response)
        if not isinstance(body, dict):
            raise UpstreamRejected(f"Cloudflare's answer to {call.operation} has not the form it should have.")
        if response.is_success and body.get("success") is True:
            return Answer(body.get("result"), _moment(response), body.get("result_info"))
        raise _error(call.operation, _refusal(response.status_code, body), meaning)

    def _rate_limited(
        self, call: Call, response: httpx.Response, meaning: RefusalMap | None
    ) -> MemoryGatewayError | None:
        """Stop every call until Cloudflare's block is over, unless this 429 means something else to the product."""
        if meaning is not None and _is_json(response):
            body = self._upstream.read_json(response)
            if isinstance(body, dict) and (error := meaning(_refusal(_TOO_MANY, body))) is not None:
                return error
        seconds = _seconds(response.headers.get("retry-after"))
        self._meter.block(seconds)
        return RateLimited(f"Cloudflare has blocked all calls ({call.operation}).", retry_after=seconds)

    def _read_rate_limit(self, response: httpx.Response) -> None:
        """Expose what Cloudflare says of its own limit; not every product says it."""
        for header in ("ratelimit", "ratelimit-policy"):
            for match in _FIGURE.finditer(response.headers.get(header, "")):
                for part in match["figures"].split(";"):
                    letter, _, value = part.strip().partition("=")
                    if letter in _FIGURES:
                        self._metrics.ratelimit(match["policy"], _FIGURES[letter], int(value))


def _error(operation: str, refusal: Refusal, meaning: RefusalMap | None) -> MemoryGatewayError:
    """Map a refusal onto the tree: the product's own meaning first, then what holds for all of Cloudflare."""
    if meaning is not None and (error := meaning(refusal)) is not None:
        return error
    said = f"Cloudflare refused {operation} with {refusal.status}/{refusal.code}: {refusal.message}"
    if refusal.status in _CREDENTIALS:
        structlog.get_logger().error("credentials_refused", operation=operation, code=refusal.code)
        return CredentialsRefused(
            f"Cloudflare refused the API token ({refusal.status}/{refusal.code} on {operation}). "
            "Check CLOUDFLARE_API_TOKEN, its permissions and CLOUDFLARE_ACCOUNT_ID."
        )
    if refusal.status == _REQUEST_TIMEOUT:
        return UpstreamTimeout(f"{said}.")
    if refusal.status >= _SERVER_ERRORS:
        return UpstreamUnavailable(f"{said}.")
    return UpstreamRejected(f"{said}.")


def _refusal(status: int, body: dict[str, Any]) -> Refusal:
    """Read the v4 envelope's first error, or the ``{code, error}`` that some endpoints answer instead."""
    errors = body.get("errors")
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else body
    code = first.get("code")
    return Refusal(status, code if isinstance(code, int) else 0, str(first.get("message") or first.get("error") or ""))


def _is_json(response: httpx.Response) -> bool:
    return "json" in response.headers.get("content-type", "")


def _seconds(retry_after: str | None) -> int:
    return int(retry_after) if retry_after is not None and retry_after.isdecimal() else int(WINDOW_SECONDS)


def _moment(response: httpx.Response) -> int:
    """Return the answer's ``Date`` in milliseconds; 0 where it has none."""
    try:
        return milliseconds(parsedate_to_datetime(response.headers.get("date", "")))
    except ValueError:
        return 0
