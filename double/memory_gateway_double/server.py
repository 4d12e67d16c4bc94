"""Serves a double on a socket: in a thread for tests, or until told to stop for people."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import uvicorn
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from memory_gateway_double.account import CLOUDFLARE, Double, DoubleOptions
from memory_gateway_double.delivery import CUT, Receive, Scope, Send
from memory_gateway_double.models.openai import PREFIX as OPENAI
from memory_gateway_double.models.rerank_endpoint import PREFIX as RERANKER
from memory_gateway_double.r2 import PREFIX as R2

Announce = Callable[[str], object]
"""Takes the text that tells a person how to use the double."""
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
"""Serves a request, as ASGI has it."""

_STOP_SECONDS = 10
_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02
_KEEP_ALIVE_SECONDS = 75


@dataclass(frozen=True, slots=True)
class Handle:
    """A running double and where it answers."""

    url: str
    double: Double

    @property
    def cloudflare_url(self) -> str:
        """The base URL of its Cloudflare API."""
        return self.url + CLOUDFLARE

    @property
    def reranker_url(self) -> str:
        """The base URL of its rerank endpoint."""
        return self.url + RERANKER

    @property
    def r2_url(self) -> str:
        """The endpoint of its R2 bucket."""
        return self.url + R2

    @property
    def openai_url(self) -> str:
        """The base URL of its OpenAI API."""
        return self.url + OPENAI


class _Protocol(HttpToolsProtocol):
    """HTTP/1.1 whose connections the application can close."""

    def on_message_begin(self) -> None:
        """Offer the function that closes the connection."""
        super().on_message_begin()
        self.scope["state"][CUT] = self._close

    def _close(self, gently: bool) -> None:  # noqa: FBT001 - called by the application with a flag
        if gently:
            self.transport.close()
        else:
            self.transport.abort()


class _Server(uvicorn.Server):
    """Lets go of requests that hang when it stops, and tells once it listens."""

    def __init__(self, config: uvicorn.Config, double: Double, started: Callable[[uvicorn.Server], object]) -> None:
        super().__init__(config)
        self._double = double
        self._on_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started(self)

    async def main_loop(self) -> None:
        """Wait until told to stop; looks more often than uvicorn does, as tests stop many doubles."""
        while not self.should_exit:  # noqa: ASYNC110 - a signal handler sets it
            await asyncio.sleep(_POLL_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let go of what hangs, give what runs a second, and leave; uvicorn's own way takes longer."""
        self._double.stopping.set()
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110 - uvicorn's sets
                    await asyncio.sleep(_POLL_SECONDS / 10)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)


@contextmanager
def running(
    options: DoubleOptions | None = None, served: Callable[[Double], Application] | None = None
) -> Iterator[Handle]:
    """Serve a double on a free port of 127.0.0.1, in a thread, for as long as the context lasts.

    ``served`` makes what answers in its place: an application that passes on to the double what it does not answer.
    """
    # asyncio sends small writes at once only on sockets that name their protocol.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    double = Double(options or DoubleOptions())
    listening = threading.Event()
    application = double if served is None else served(double)
    server = _Server(_config(application), double, lambda _: listening.set())

    def serve_forever() -> None:
        try:
            asyncio.run(server.serve([listener]))
        finally:
            listening.set()

    thread = threading.Thread(target=serve_forever, name="double", daemon=True)
    try:
        thread.start()
        listening.wait(_STOP_SECONDS)
        if not server.started:
            raise RuntimeError("the double did not start")
        yield Handle(f"http://127.0.0.1:{listener.getsockname()[1]}", double)
    finally:
        server.should_exit = True
        thread.join(_STOP_SECONDS)
        listener.close()
        double.close()


async def serve(options: DoubleOptions, host: str, port: int, announce: Announce) -> None:
    """Serve until SIGINT or SIGTERM; the control path exists only where ``host`` is this machine alone."""
    double = Double(options, control=_is_loopback(host))

    def started(server: uvicorn.Server) -> None:
        address, bound = server.servers[0].sockets[0].getsockname()[:2]
        url = f"http://[{address}]:{bound}" if ":" in address else f"http://{address}:{bound}"
        announce(_how_to_use(Handle(url, double), control=_is_loopback(host)))

    config = _config(double)
    config.host, config.port = host, port
    try:
        await _Server(config, double, started).serve()
    finally:
        double.close()


def _config(application: Application) -> uvicorn.Config:
    threadpool_limits(limits=1, user_api="blas")  # searches are too small to gain from more threads
    return uvicorn.Config(
        application,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _how_to_use(handle: Handle, *, control: bool) -> str:
    options = handle.double.options
    lines = [
        f"\nThe double serves a Cloudflare account on {handle.cloudflare_url} and OpenAI on {handle.openai_url}.",
        "Settings for memory-gateway:\n",
        f"CLOUDFLARE_API_BASE_URL={handle.cloudflare_url}",
        f"CLOUDFLARE_ACCOUNT_ID={options.account_id}",
        f"CLOUDFLARE_API_TOKEN={options.api_token}",
        f"OPENAI_BASE_URL={handle.openai_url}",
        f"OPENAI_API_KEY={options.openai_api_key}",
        f"RERANKER_BASE_URL={handle.reranker_url}",
        f"RERANKER_API_KEY={options.reranker_api_key}",
        f"R2_ENDPOINT={handle.r2_url}",
        f"R2_BUCKET={options.r2_bucket}",
        f"R2_ACCESS_KEY_ID={options.r2_access_key_id}",
        f"R2_SECRET_ACCESS_KEY={options.r2_secret_access_key}",
        "\nRun `memory-gateway provision` with them; it tells CLOUDFLARE_D1_DATABASE_ID.",
    ]
    if control:
        lines.append(f"Its state, and faults to inject, are at {handle.url}/_double/ (see double/README.md).")
    return "\n".join(lines) + "\n"
