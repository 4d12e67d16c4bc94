"""The clients: every operation as a method, of one that returns the answer and of one to await it from."""

import asyncio
import json
import os
import ssl
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from functools import cache
from typing import Any, Generic, Self, TypeVar

import httpx

from memory_gateway_client import tools
from memory_gateway_client.answers import failures_mapped
from memory_gateway_client.exchange import Exchange, Pause, exchange
from memory_gateway_client.lines import LineReader
from memory_gateway_client.methods import Awaiting, Method, Waiting
from memory_gateway_client.operations import Operations
from memory_gateway_client.request import Call, Line, is_visible

T = TypeVar("T")
H = TypeVar("H", httpx.Client, httpx.AsyncClient)

_LOCAL = "http://127.0.0.1:8000"


class _Client(Operations, Generic[H]):
    """What both clients have: the operations, and how they are set up."""

    call_tool = Method(tools.call_tool)

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        agent_id: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
        http: H | None = None,
    ) -> None:
        """Set up a client; nothing is sent yet.

        Args:
            base_url: Where the service is; else MEMORY_GATEWAY_URL, else http://127.0.0.1:8000.
            token: The credential; else MEMORY_GATEWAY_TOKEN. It may be missing where ``http`` brings its own.
            agent_id: The agent of every call that names no other; else MEMORY_GATEWAY_AGENT.
            timeout: Seconds that a call may take, all that is sent again included.
            retries: How often a request is sent again, at most, where that is safe.
            http: A client to send with, for proxies, certificates or tests. It is not closed, its base URL not used.

        Raises:
            ValueError: there is no token, or one of these cannot be used.
        """
        self.base_url = _checked_url(base_url or os.environ.get("MEMORY_GATEWAY_URL") or _LOCAL)
        self.agent_id = agent_id or os.environ.get("MEMORY_GATEWAY_AGENT") or None
        token = token or os.environ.get("MEMORY_GATEWAY_TOKEN")
        if not token and http is None:
            raise ValueError("No credential: say token=, or set MEMORY_GATEWAY_TOKEN.")
        if timeout <= 0 or retries < 0:
            raise ValueError("A call has some time, and no less than no retries.")
        # Kept in headers of httpx, which show no Authorization.
        self._headers = httpx.Headers({"Authorization": f"Bearer {_checked_token(token)}"} if token else {})
        self._timeout = timeout
        self._retries = retries
        self._owns_http = http is None
        self._http: H = self._open() if http is None else http

    def __repr__(self) -> str:
        """Show where it asks and for whom, never the credential."""
        return f"{type(self).__name__}({self.base_url!r}, agent_id={self.agent_id!r})"

    def _open(self) -> H:
        raise NotImplementedError

    def _sendable(self, call: Call[Any]) -> Any:  # noqa: ANN401 - what httpx sends
        raise NotImplementedError

    def _exchange(self, call: Call[T]) -> Exchange[T]:
        headers = httpx.Headers({**self._headers, **call.headers})
        content = self._sendable(call)
        if call.body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(call.body, allow_nan=False).encode()

        def build(seconds: float) -> httpx.Request:
            url, params = f"{self.base_url}{call.path}", call.query or None
            return self._http.build_request(
                call.method, url, params=params, headers=headers, content=content, timeout=seconds
            )

        return exchange(call, build, timeout=self._timeout, retries=self._retries)


@cache
def _tls_context() -> ssl.SSLContext:
    """Load the trusted certificates once a process: it takes 40 ms, more than a call does."""
    return httpx.create_ssl_context()


class MemoryClient(_Client[httpx.Client], Waiting):
    """A client of the service whose methods return the answer. Several threads may share it."""

    def _open(self) -> httpx.Client:
        return httpx.Client(verify=_tls_context())

    def _sendable(self, call: Call[Any]) -> Any:  # noqa: ANN401 - what httpx sends
        if isinstance(call.content, AsyncIterable):
            raise TypeError("A MemoryClient takes an iterable; AsyncMemoryClient takes one to await, too.")
        return call.content

    def _run(self, call: Call[T]) -> T:
        running = self._exchange(call)
        try:
            step = next(running)
            while True:
                if isinstance(step, Pause):
                    self._sleep(step.seconds)
                    step = next(running)
                    continue
                try:
                    response = self._http.send(step, stream=call.lines_until is not None)
                    if response.status_code != call.status:
                        response.read()
                except httpx.RequestError as error:
                    step = running.throw(error)
                else:
                    step = running.send(response)
        except StopIteration as ended:
            answer: T = ended.value
            return answer

    def _stream(self, call: Call[Line]) -> Iterator[Line]:
        response: Any = self._run(call)
        reader = LineReader(call)
        try:
            with failures_mapped(call, response.url):
                for chunk in response.iter_bytes():
                    yield from reader.read(chunk)
            reader.end()
        finally:
            response.close()

    _sleep = staticmethod(time.sleep)

    def close(self) -> None:
        """Close the connections, unless they are of an ``http`` that was given."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


class AsyncMemoryClient(_Client[httpx.AsyncClient], Awaiting):
    """A client of the service whose methods are awaited, on asyncio."""

    def _open(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(verify=_tls_context())

    def _sendable(self, call: Call[Any]) -> Any:  # noqa: ANN401 - what httpx sends
        content = call.content
        return _awaited(content) if isinstance(content, Iterable) and not isinstance(content, bytes) else content

    async def _run(self, call: Call[T]) -> T:
        running = self._exchange(call)
        try:
            step = next(running)
            while True:
                if isinstance(step, Pause):
                    await self._sleep(step.seconds)
                    step = next(running)
                    continue
                try:
                    response = await self._http.send(step, stream=call.lines_until is not None)
                    if response.status_code != call.status:
                        await response.aread()
                except httpx.RequestError as error:
                    step = running.throw(error)
                else:
                    step = running.send(response)
        except StopIteration as ended:
            answer: T = ended.value
            return answer

    async def _stream(self, call: Call[Line]) -> AsyncIterator[Line]:
        response: Any = await self._run(call)
        reader = LineReader(call)
        try:
            with failures_mapped(call, response.url):
                async for chunk in response.aiter_bytes():
                    for line in reader.read(chunk):
                        yield line
            reader.end()
        finally:
            await response.aclose()

    _sleep = staticmethod(asyncio.sleep)

    async def aclose(self) -> None:
        """Close the connections, unless they are of an ``http`` that was given."""
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()


async def _awaited(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _checked_url(url: str) -> str:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        parts = httpx.URL()
    if parts.scheme not in {"http", "https"} or not parts.host or parts.query or parts.fragment:
        raise ValueError("The base URL is not one of a service, such as https://memory.example.com.")
    if parts.userinfo:
        raise ValueError("The base URL holds no user and no password: the credential is token=.")
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    # httpx would show a header that it cannot send.
    if not is_visible(token):
        raise ValueError("The token is not a credential: it has other characters than visible ASCII.")
    return token
