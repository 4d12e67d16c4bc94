"""Calls another service over HTTP: a pool of connections for each kind of calls, deadlines, one mapping of failures."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.request import getproxies

import httpx
import orjson

from app.adapters.breaker import Breaker
from app.domain.errors import UpstreamRejected, UpstreamTimeout, UpstreamUnavailable
from app.observability.metrics import Metrics
from app.observability.traces import tell_status
from app.observability.upstream_metrics import NO_ATTRIBUTES

_CONNECT_SECONDS = 3.0
_CONNECTIONS = 100
_IDLE_SECONDS = 55.0
_SENT = "send_request_body.complete"
"""The end of the name of httpx's event that a request was written; the protocol stands before it."""
_OF_TRANSFER = {"content-encoding", "content-length", "transfer-encoding"}
_PORTS = {"http": 80, "https": 443}
_VENDORS = (".cloudflare.com", ".openai.com")
"""Hosts of others, which are not told of traces: an edge, a proxy and a model of one's own are."""
_EXTENSIONS: Mapping[str, Any] = {"timeout": {"connect": _CONNECT_SECONDS, "read": None, "write": None, "pool": None}}


@dataclass(frozen=True, slots=True)
class Call:
    """A request to send. ``operation`` is its name in logs and metrics, such as ``d1.query``."""

    operation: str
    method: str
    path: str
    content: bytes | None = None
    content_type: str = "application/json"
    query: Mapping[str, str] | None = None
    seconds: float | None = None
    headers: Mapping[str, str] | None = None
    max_bytes: int | None = None
    """How long the body of the response may be; None: any length."""
    breaker: Breaker | None = None
    """The circuit of such calls, which have connections of their own; None for calls that wait for no others."""
    counts: bool = True
    """Whether a time-out of the call counts for the circuit."""
    quotable: bool = True
    """Whether the reason that a refusal gives may stand in errors; not where it may repeat texts of memories."""
    model: str | None = None
    """The model that is asked, for the call's span; ``provider`` and ``task`` are by OpenTelemetry's conventions."""
    provider: str = ""
    task: str = ""
    sent: Callable[[], None] | None = None
    """Called when the request was written: from then on the service may carry it out, and charge for it."""


_Connection = httpx.AsyncHTTPTransport | httpx.AsyncClient
"""A connection as httpx has it: a transport, or a client where one minds a proxy or a user in the service's address."""


@dataclass(frozen=True, slots=True)
class _Idle:
    """An idle connection, and the time since which it is idle."""

    http: "_Connection"
    since: float


class _Pool:
    """The connections for one kind of calls. Calls that hang occupy those of their own kind alone."""

    __slots__ = ("idle", "room")

    def __init__(self) -> None:
        """Begin without connections."""
        self.room = asyncio.Semaphore(_CONNECTIONS)
        self.idle: list[_Idle] = []


@cache
def _tls_context() -> ssl.SSLContext:
    """Load the trusted certificates once: it takes 40 ms, and every service is checked against them."""
    return httpx.create_ssl_context()


class Upstream:
    """Kept-alive HTTP/1.1 connections to one service, in a pool for each circuit.

    Each connection is a transport of its own: httpx's pool examines all its connections for every request, which at
    sixteen concurrent requests costs more than the requests themselves (``bench/results``). What a client adds to a
    transport is left out: cookies, redirects and credentials, which no call has, take a fifth of a request's CPU time.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        headers: Mapping[str, str],
        seconds: float,
        metrics: Metrics,
    ) -> None:
        """Take the service's name for operators, and the deadline of a call that sets none itself."""
        self.name = name
        self._seconds = seconds
        self._metrics = metrics.upstream
        self._base_url = base_url.rstrip("/")
        self._server = httpx.URL(self._base_url)
        self._port = self._server.port or _PORTS[self._server.scheme]
        self._tells = not f".{self._server.host}".endswith(_VENDORS)
        """Whether the service is told which trace a call belongs to."""
        self._headers = {"User-Agent": "memory-gateway", "Accept-Encoding": "gzip, deflate", **headers}
        self._urls: dict[str, httpx.URL] = {}
        self._tls = _tls_context()
        self._limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_IDLE_SECONDS)
        self._makes_clients = bool(getproxies() or self._server.userinfo)
        self._pools: dict[str, _Pool] = {}
        """The pools by the name of their circuit; '' for calls without a circuit."""
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def send(self, call: Call) -> httpx.Response:
        """Send the call and return the complete response, whatever its status.

        Raises:
            CircuitOpen: the last such calls got no answer in time, so this one was not made.
            UpstreamTimeout: the response was not complete in time; a write may have been done.
            UpstreamUnavailable: the service cannot be reached, or closed the connection.
            UpstreamRejected: the body is longer than it may be; the rest was not read.
        """
        if call.breaker is None:
            return await self._send(call, "")
        with call.breaker.call(counts=call.counts):
            return await self._send(call, call.breaker.name)

    async def _send(self, call: Call, pool: str) -> httpx.Response:
        request = self._request(call)
        try:
            async with asyncio.timeout(call.seconds or self._seconds), self._connection(pool) as http:
                response = await _sent(http, request, stream=call.max_bytes is not None)
                if self._metrics.traces is not None:
                    tell_status(response.status_code)
                return response if call.max_bytes is None else await self._read_bounded(response, call.max_bytes)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise UpstreamTimeout(f"{self.name} did not answer {call.operation} in time.") from error
        except httpx.HTTPError as error:
            raise UpstreamUnavailable(f"{self.name} could not be reached ({type(error).__name__}).") from error

    async def _read_bounded(self, response: httpx.Response, max_bytes: int) -> httpx.Response:
        """Read a response's body up to a limit, and return it with the headers that still hold."""
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > max_bytes:
                raise UpstreamRejected(f"{self.name} answered more than {max_bytes} bytes.")
        kept = [(name, value) for name, value in response.headers.items() if name not in _OF_TRANSFER]
        return httpx.Response(response.status_code, headers=kept, content=bytes(body))

    def measured(self, call: Call) -> AbstractContextManager[None]:
        """Record the duration and the outcome of the call made inside."""
        return self._metrics.measured(call.operation, self._attributes(call))

    def _attributes(self, call: Call) -> Mapping[str, str | int]:
        """Return the attributes of the call's span, by OpenTelemetry's conventions; none where nothing is traced."""
        if self._metrics.traces is None:
            return NO_ATTRIBUTES
        told: dict[str, str | int] = {
            "http.request.method": call.method,
            "server.address": self._server.host,
            "server.port": self._port,
        }
        of_model = {
            "gen_ai.operation.name": call.task,
            "gen_ai.provider.name": call.provider,
            "gen_ai.request.model": call.model or "",
        }
        told.update((name, value) for name, value in of_model.items() if value)
        return told

    def read_json(self, response: httpx.Response) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Parse the body of a response.

        Raises:
            UpstreamRejected: the body is not JSON.
        """
        try:
            return orjson.loads(response.content)
        except orjson.JSONDecodeError as error:
            raise UpstreamRejected(f"{self.name} answered something that is not JSON.") from error

    async def close(self) -> None:
        """Close the connections; one that a call still uses is closed when the call ends."""
        self._closed = True
        for pool in self._pools.values():
            while pool.idle:
                self._give_up(pool.idle.pop().http)
        if self._closing:
            await asyncio.wait(self._closing)

    def _request(self, call: Call) -> httpx.Request:
        """Build the request. Each path is parsed only once, because httpx is slow at it."""
        url = self._urls.get(call.path)
        if url is None:
            url = self._urls[call.path] = httpx.URL(self._base_url + call.path)
        headers = self._headers if call.content is None else {**self._headers, "Content-Type": call.content_type}
        if call.headers is not None:
            headers = {**headers, **call.headers}
        if self._metrics.traces is not None and self._tells:
            headers = {**headers, **self._metrics.traces.headers()}
        target = url if call.query is None else url.copy_merge_params(dict(call.query))
        extensions = _EXTENSIONS if call.sent is None else {**_EXTENSIONS, "trace": _telling(call.sent)}
        return httpx.Request(call.method, target, headers=headers, content=call.content, extensions=extensions)

    @asynccontextmanager
    async def _connection(self, name: str) -> AsyncIterator[_Connection]:
        """Use the most recently used connection, or a new one, and keep it for the next call if this one is answered.

        After a call that was cancelled, httpx may wait for its connection for ever.
        """
        pool = self._pools.get(name)
        if pool is None:
            pool = self._pools[name] = _Pool()
        async with pool.room:
            http = pool.idle.pop().http if pool.idle else self._open()
            answered = False
            try:
                yield http
                answered = True
            finally:
                if answered and not self._closed:
                    self._keep(pool, http)
                else:
                    self._give_up(http)

    def _keep(self, pool: _Pool, http: _Connection) -> None:
        """Put the connection on top of the stack, and close those at the bottom that were idle for long."""
        now = time.monotonic()
        pool.idle.append(_Idle(http, now))
        while pool.idle[0].since < now - _IDLE_SECONDS:
            self._give_up(pool.idle.pop(0).http)

    def _give_up(self, http: _Connection) -> None:
        """Close the connection in a task of its own, which the cancellation of the call does not cancel."""
        closing = asyncio.create_task(http.aclose())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _open(self) -> _Connection:
        make = httpx.AsyncClient if self._makes_clients else httpx.AsyncHTTPTransport
        return make(verify=self._tls, limits=self._limits)


async def _sent(http: _Connection, request: httpx.Request, *, stream: bool) -> httpx.Response:
    """Send a request, and read the whole response unless its caller does."""
    if isinstance(http, httpx.AsyncClient):
        return await http.send(request, stream=stream)
    response = await http.handle_async_request(request)
    response.request = request
    if not stream:
        try:
            await response.aread()
        except BaseException:
            await response.aclose()
            raise
    return response


def _telling(sent: Callable[[], None]) -> Callable[[str, Any], Awaitable[None]]:
    """Return a callback that httpx calls with each step of a request."""

    async def trace(step: str, _: Any) -> None:  # noqa: ANN401 - as httpx has it
        if step.endswith(_SENT):
            sent()

    return trace
