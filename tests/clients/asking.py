"""Either client, asked in one way: a test that takes one runs on both."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import anyio.from_thread
import anyio.to_thread
import httpx

from memory_gateway_client import AsyncMemoryClient, MemoryClient

TOKEN = "a-token-that-nobody-may-see"


class Asked:
    """A client whose every method is awaited, whichever it is."""

    def __init__(self, client: MemoryClient | AsyncMemoryClient) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.client, name)
        if isinstance(self.client, AsyncMemoryClient):
            return method  # type: ignore[no-any-return]  # any method of the client

        async def in_a_thread(*args: Any, **kwargs: Any) -> Any:
            return await anyio.to_thread.run_sync(functools.partial(method, *args, **kwargs))

        return in_a_thread


class FromAThread(httpx.BaseTransport):
    """Lets a client that waits, in a thread of its own, use a transport of the event loop."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return anyio.from_thread.run(self._handle, request)

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        answer = await self._transport.handle_async_request(request)
        headers = [each for each in answer.headers.raw if each[0].lower() != b"content-encoding"]
        return httpx.Response(answer.status_code, headers=headers, content=await answer.aread())


def ask(kind: str, transport: httpx.AsyncBaseTransport, **arguments: Any) -> Asked:
    """Return the client of this kind, over the transport."""
    given: dict[str, Any] = {"base_url": "http://service", "token": TOKEN, "agent_id": "bot"} | arguments
    if kind == "async":
        return Asked(AsyncMemoryClient(**given, http=httpx.AsyncClient(transport=transport)))
    return Asked(MemoryClient(**given, http=httpx.Client(transport=FromAThread(transport))))
