"""The ASGI application: the HTTP interface, the MCP endpoint and the console."""

from collections.abc import Collection

from fastapi import FastAPI

from app.interfaces.console.door import SessionTimes
from app.interfaces.console.endpoint import Console
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
        endpoints.append(Console(shards, console))
    return create_http_app(shards, endpoints, hosts, reports=reports, metrics_readers=metrics_readers)
