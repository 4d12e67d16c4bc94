"""The ASGI application: the HTTP interface, the MCP endpoint and the console."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from app.interfaces.console.door import SessionTimes
from app.interfaces.console.page import ROOT
from app.interfaces.http.application import Endpoint, create_http_app
from app.interfaces.http.metrics_readers import MetricsReaders
from app.interfaces.mcp.http import McpEndpoint
from app.runtime.shards import Shards
from app.settings import Settings

_MINUTE_MS = 60_000
USUAL_TIMES = SessionTimes(idle_ms=30 * _MINUTE_MS, longest_ms=720 * _MINUTE_MS)
"""How long sessions of the console hold where no settings say it."""


def session_times(settings: Settings) -> SessionTimes | None:
    """Return how long sessions of the console hold; None where the settings have no console."""
    if not settings.console:
        return None
    return SessionTimes(settings.console_idle_minutes * _MINUTE_MS, settings.console_max_minutes * _MINUTE_MS)


def create_app(
    shards: Shards,
    hosts: Collection[str] = (),
    *,
    reports: bool = False,
    console: SessionTimes | None = USUAL_TIMES,
    metrics_readers: MetricsReaders | None = None,
) -> FastAPI:
    """Make the application over shards that have started; it closes them when it ends.

    ``hosts`` are the host names that requests may be addressed to, all where it is empty; ``reports``: each answer
    reports its call to the Worker in front. ``console`` says how long its sessions hold; with None there is no console.
    ``metrics_readers``: who reads the metrics; None: this machine.
    """
    endpoints: list[Endpoint] = [McpEndpoint(shards)]
    if console is not None:
        endpoints.append(_LateConsole(shards, console))
    return create_http_app(shards, endpoints, hosts, reports=reports, metrics_readers=metrics_readers)


class _LateConsole:
    """The console, whose pages and templates are loaded with the first request of it, while others are answered."""

    def __init__(self, shards: Shards, times: SessionTimes) -> None:
        self.routes = [Route(ROOT, self), Route(f"{ROOT}/{{path:path}}", self)]
        self._shards = shards
        self._times = times
        self._loading = asyncio.Lock()
        self._console: ASGIApp | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Do nothing for as long as the application runs: the console has no work in the background."""
        yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        console = self._console or await self._loaded()
        await console(scope, receive, send)

    async def _loaded(self) -> ASGIApp:
        async with self._loading:
            if self._console is None:
                self._console = await asyncio.to_thread(self._load)
            return self._console

    def _load(self) -> ASGIApp:
        from app.interfaces.console.endpoint import Console  # noqa: PLC0415 - loading it takes 20 ms and 3 MB

        return Console(self._shards, self._times)
