"""Calls Cloudflare's REST API: credentials, envelope, call budget and the mapping of its errors."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import structlog

from app.adapters.breaker import Breakers
from app.adapters.cloudflare import bookmark
from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.responses import Refusal, read_figures, read_moment, read_refusal, read_retry_after
from app.adapters.cloudflare.transport import REST, UNDISCOVERED, Transport, read_capabilities
from app.adapters.upstream import Call, Upstream
from app.domain.errors import (
    CloudflareBlocks,
    ConfigurationError,
    CredentialsRefused,
    MemoryGatewayError,
    RateLimited,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics

BASE_URL = "https://api.cloudflare.com/client/v4"
PROVIDER = "cloudflare.workers_ai"
"""The name of Workers AI in traces."""
CALL_SECONDS = 10.0
"""The deadline of a call."""

_BACKGROUND_AT_ONCE = 48
"""Background calls that are made at the same time at most: calls of language models hold a connection for long."""
_NOT_FOUND = 404
_REQUEST_TIMEOUT = 408
_TOO_MANY = 429
_SERVER_ERRORS = 500
_CREDENTIALS = {401, 403}
_MALFORMED_HEADERS = 6003
_NO_ROUTE = 7003
_BEFORE_ANY_PRODUCT = {_MALFORMED_HEADERS, _NO_ROUTE}
"""Codes of calls refused before they reached a product, with a status that products use for reasons of their own."""
_THROTTLED = 971
_OWN_LIMIT = re.compile(r"requests per \d+ seconds|your request speed|\bAPI\b.{0,200}\brate limit", re.IGNORECASE)
"""The message of the limit on all calls; products have limits of their own, with other messages."""
_WAIT_SECONDS = 10
_SHORTEST_SECONDS = 0.001
_CAPABILITIES = Call("edge.capabilities", "GET", "/capabilities")
_FEW_LEFT = 100


@dataclass(frozen=True, slots=True)
class CloudflareAnswer:
    """The result of a call, and its time by Cloudflare's clock (ms since the epoch); None where it is not known."""

    result: Any
    at: int | None
    info: Any = None
    bookmark: str | None = None
    """The state of the D1 database that a run has seen; only the edge returns it."""


RefusalMap = Callable[[Refusal], MemoryGatewayError | None]
"""Maps a refusal to a product's own error; None where the product has none for it."""


class CloudflareClient:
    """Calls within one account. All adapters of a process share it, so that one budget counts every call."""

    def __init__(
        self,
        *,
        account_id: str,
        api_token: str,
        call_budget: CallBudget,
        metrics: Metrics,
        base_url: str = BASE_URL,
        seconds: float = CALL_SECONDS,
        breakers: Breakers | None = None,
    ) -> None:
        """Open no connection yet; ``seconds`` is the deadline of a call that sets none itself."""
        self.breakers = breakers or Breakers(metrics)
        """The circuits of the process, of which each product takes its own."""
        self._call_budget = call_budget
        self._metrics = metrics
        self.transport = REST if base_url.rstrip("/") == BASE_URL else UNDISCOVERED
        """The service that answers the calls, as far as ``discover`` has found out."""
        self._upstream = Upstream(
            "Cloudflare",
            base_url=f"{base_url.rstrip('/')}/accounts/{account_id}",
            headers={"Authorization": f"Bearer {api_token}"},
            seconds=seconds,
            metrics=metrics,
        )
        self._seconds = seconds
        self._background = asyncio.Semaphore(_BACKGROUND_AT_ONCE)
        metrics.budgets.cloudflare(call_budget.left)

    async def discover(self) -> Transport:
        """Find out which service answers at the base URL: Cloudflare's REST API or the Worker of ``deploy/edge``.

        The limit on calls of the REST API does not concern a Worker, so behind one no call is counted. Where neither
        answers, as in place of a Worker that is not deployed yet, this is asked again the next time.

        Raises:
            Unavailable: no service answers, so that it is not known yet.
        """
        if self.transport is UNDISCOVERED:
            try:
                answer = await self.call(_CAPABILITIES, _meaning_of_capabilities)
            except _AnsweredByNeither:
                return self.transport
            except UpstreamRejected:  # Cloudflare's REST API knows no such path
                self.transport = REST
            else:
                self.transport = read_capabilities(answer.result)
                self._call_budget.stop_counting()
        return self.transport

    async def check_bindings(self, database_id: str, index_name: str) -> None:
        """Return if the service that answers has this database and this index.

        An edge that seems to lack one is asked again, because it may have been deployed anew since.

        Raises:
            ConfigurationError: the edge's configuration lacks one of them.
            Unavailable: the service does not answer now.
        """
        try:
            (await self.discover()).check_bindings(database_id, index_name)
        except ConfigurationError:
            self.transport = read_capabilities((await self.call(_CAPABILITIES)).result)
            self.transport.check_bindings(database_id, index_name)

    async def call(
        self,
        call: Call,
        meaning: RefusalMap | None = None,
        *,
        for_share: bool = False,
        deadline: asyncio.Timeout | None = None,
    ) -> CloudflareAnswer:
        """Make one call within the account.

        Args:
            call: The request to send.
            meaning: Maps a refusal to an error, before the mapping of all products does.
            for_share: Whether the call asks for this process's share of the limit: it is always made and counted.
            deadline: When the call has to be answered; this is put off while the call waits to be admitted.

        Raises:
            RateLimited: the call budget is spent, or Cloudflare refused the call.
            CloudflareBlocks: Cloudflare refuses every call for a while.
            CircuitOpen: the last such calls got no answer in time; no call was spent.
            CredentialsRefused, UpstreamTimeout, UpstreamUnavailable, UpstreamRejected: see ``app.domain.errors``.
        """
        if call.breaker is not None:
            call.breaker.check()
        with self._upstream.measured(call):
            if for_share:
                self._call_budget.record()
            else:
                await self._take(call, deadline=deadline)
            response = await self._send(call)
            if response.is_success:
                body = self._upstream.read_json(response)
                if isinstance(body, dict) and body.get("success") is True:
                    if for_share:
                        self._call_budget.answered()
                    seen = response.headers.get(bookmark.HEADER)
                    return CloudflareAnswer(body.get("result"), read_moment(response), body.get("result_info"), seen)
            raise self._refused(call, response, meaning)

    async def call_compatible(self, call: Call, meaning: RefusalMap) -> bytes:
        """Call an endpoint that answers in another vendor's form, without an envelope, and return the body.

        Such calls are background work: they leave a part of the call budget, and of the connections, to requests. The
        deadline of the call holds for all that it waits for; if it passes before the call is sent, no call is spent,
        and the circuit does not count the time-out. The method raises the errors of ``call``.
        """
        if call.breaker is not None:
            call.breaker.check()
        with self._upstream.measured(call):
            now = asyncio.get_running_loop().time
            ends = now() + (call.seconds or self._seconds)
            async with AsyncExitStack() as turn:
                try:
                    async with asyncio.timeout_at(ends):
                        await turn.enter_async_context(self._background)
                        await self._take(call, background=True)
                except TimeoutError as error:
                    raise UpstreamTimeout(
                        f"{call.operation} was not sent in time: other calls kept it waiting."
                    ) from error
                response = await self._send(replace(call, seconds=max(ends - now(), _SHORTEST_SECONDS)))
            if response.is_success:
                return response.content
            raise self._refused(call, response, meaning, compatible=True)

    def retried(self, operation: str) -> None:
        """Count a retry."""
        self._metrics.upstream.retry(operation)

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()

    async def _take(self, call: Call, *, background: bool = False, deadline: asyncio.Timeout | None = None) -> None:
        """Spend a call of the budget, unless the call's circuit was opened while the call waited to be admitted."""
        if deadline is None:
            await self._call_budget.admit()
        else:
            async with _put_off(deadline):
                await self._call_budget.admit()
        if call.breaker is not None:
            call.breaker.check()
        self._call_budget.take(background=background)

    async def _send(self, call: Call) -> httpx.Response:
        response = await self._upstream.send(call)
        self._read_rate_limit(response)
        return response

    def _refused(
        self, call: Call, response: httpx.Response, meaning: RefusalMap | None, *, compatible: bool = False
    ) -> MemoryGatewayError:
        """Map a refusal to an error: by the product's own mapping first, then by that of all products."""
        refusal, operation = read_refusal(response), call.operation
        reason = f": {refusal.message}" if call.quotable else ""
        said = f"Cloudflare refused {operation} with {refusal.status}/{refusal.code}{reason}"
        own = None if meaning is None or refusal.code in _BEFORE_ANY_PRODUCT else meaning(refusal)
        if own is not None:
            return own
        if refusal.code == _NO_ROUTE:
            return UpstreamRejected(f"{said}.", cure=self.transport.cures.path)
        if refusal.status == _TOO_MANY:
            return self._limited(call, refusal, response.headers.get("retry-after"), compatible=compatible)
        if refusal.status in _CREDENTIALS or refusal.code == _MALFORMED_HEADERS:
            structlog.get_logger().error("credentials_refused", operation=operation, code=refusal.code)
            return CredentialsRefused(
                f"Cloudflare refused the API token ({refusal.status}/{refusal.code} on {operation}).",
                cure=self.transport.cures.credentials,
            )
        if refusal.status == _REQUEST_TIMEOUT:
            return UpstreamTimeout(f"{said}.")
        return UpstreamUnavailable(f"{said}.") if refusal.status >= _SERVER_ERRORS else UpstreamRejected(f"{said}.")

    def _limited(self, call: Call, refusal: Refusal, retry_after: str | None, *, compatible: bool) -> RateLimited:
        """Distinguish the limit on all calls, which blocks all of them, from a limit of one product.

        A compatible endpoint may say itself how long its own limit lasts.
        """
        seconds = read_retry_after(retry_after)
        of_all = refusal.code == _THROTTLED or _OWN_LIMIT.search(refusal.message)
        if not of_all and (retry_after is None or compatible):
            reason = f": {refusal.message}" if call.quotable else ""
            said = f"Cloudflare limits {call.operation} ({refusal.code}){reason}."
            return RateLimited(said, retry_after=_WAIT_SECONDS if retry_after is None else seconds)
        self._call_budget.block(seconds)
        wait = self._call_budget.blocked_for()
        return CloudflareBlocks(f"Cloudflare has blocked all calls ({call.operation}).", retry_after=wait)

    def _read_rate_limit(self, response: httpx.Response) -> None:
        """Record the state of Cloudflare's limit, and correct the budget by it; not every product returns it."""
        announced: dict[str, dict[str, int]] = {}
        for header in ("ratelimit", "ratelimit-policy"):
            for policy, figure, value in read_figures(response.headers.get(header, "")):
                self._metrics.upstream.ratelimit(policy, figure, value)
                announced.setdefault(policy, {})[figure] = value
                if figure == "remaining" and value < _FEW_LEFT:
                    structlog.get_logger().warning("cloudflare_ratelimit_low", policy=policy, remaining=value)
        for policy, figures in announced.items():
            if "remaining" in figures and "reset_seconds" in figures:
                self._call_budget.record_announced_limit(policy, figures["remaining"], figures["reset_seconds"])


class _AnsweredByNeither(UpstreamRejected):
    """A refusal without a code: neither Cloudflare's REST API nor an edge has made it."""


def _meaning_of_capabilities(refusal: Refusal) -> MemoryGatewayError | None:
    if refusal.code or refusal.status != _NOT_FOUND:
        return None
    return _AnsweredByNeither("Nothing answers at CLOUDFLARE_API_BASE_URL.")


@asynccontextmanager
async def _put_off(deadline: asyncio.Timeout) -> AsyncIterator[None]:
    """Put a deadline off by the time that is spent inside."""
    now, ends = asyncio.get_running_loop().time, deadline.when()
    began = now()
    deadline.reschedule(None)
    try:
        yield
    finally:
        deadline.reschedule(None if ends is None else ends + now() - began)
