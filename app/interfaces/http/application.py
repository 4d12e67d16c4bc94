"""The application that serves the HTTP interface."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache, partial
from typing import Any, Protocol

from fastapi import FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.telemetry import TelemetryConfig
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from app.interfaces.http import problems
from app.interfaces.http.anonymous import AnonymousTurns
from app.interfaces.http.direct import DirectRoutes
from app.interfaces.http.metrics_readers import MetricsReaders
from app.interfaces.http.middleware import RequestContext
from app.interfaces.http.pages import LatelyMade, StaticPage
from app.interfaces.http.routes import docs
from app.interfaces.http.routes.acts import acts
from app.interfaces.http.routes.agent_memory import agent_memory
from app.interfaces.http.routes.archive import archives
from app.interfaces.http.routes.assembly import assembly
from app.interfaces.http.routes.audit import audit
from app.interfaces.http.routes.blobs import blobs
from app.interfaces.http.routes.browse import data
from app.interfaces.http.routes.consolidation import consolidation
from app.interfaces.http.routes.context import context
from app.interfaces.http.routes.credentials import credentials
from app.interfaces.http.routes.discovery import discovery
from app.interfaces.http.routes.episodic import episodic
from app.interfaces.http.routes.erasures import erasures
from app.interfaces.http.routes.facts import facts
from app.interfaces.http.routes.ingest import ingests
from app.interfaces.http.routes.memories import memory
from app.interfaces.http.routes.namespaces import namespaces
from app.interfaces.http.routes.operations import operations
from app.interfaces.http.routes.profiles import profiles
from app.interfaces.http.routes.recall import recalls
from app.interfaces.http.routes.tools import tools
from app.interfaces.http.routes.transfer import transfer
from app.interfaces.http.routes.windows import windows
from app.interfaces.http.routes.workflows import workflows
from app.interfaces.http.routes.working import working
from app.interfaces.version import installed_version
from app.observability.metrics import MEDIA_TYPE
from app.runtime.shards import Shards

_ROUTERS = (
    *(memory, recalls, profiles, ingests, erasures, credentials, data, operations),
    *(transfer, namespaces, agent_memory, tools, discovery),
    *(working, windows, episodic, workflows, context, assembly, audit, acts, blobs),
    *(facts, consolidation, archives),
)
_ROUTES = [route for router in _ROUTERS for route in router.routes]
METRICS_SECONDS = 1.0
_TITLE = "Memory Gateway"
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI has no spans, metrics and logs of its own: the service has those that it is asked for (ADR 0078)."""
_DESCRIPTION = "Long-term memory for AI agents. The tenant comes from the credential, never from a request."


@cache
def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document, which takes a second to make and is the same for every application."""
    return docs.openapi(_TITLE, _DESCRIPTION, _ROUTES)


class Endpoint(Protocol):
    """The routes of another interface that the application serves too."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """The routes."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Run the routes' background tasks for as long as the application runs."""
        ...


class _Application(FastAPI):
    """FastAPI with one layer of ours around a request, and direct routes before its own layers (ADR 0095)."""

    def __init__(self, around: Callable[..., ASGIApp], **settings: Any) -> None:  # noqa: ANN401 - FastAPI's
        """Take what makes the layer, and FastAPI's settings of an application."""
        super().__init__(**settings)
        self._around = around

    def build_middleware_stack(self) -> ASGIApp:
        """Return the layers of a request; ours answers to exceptions that no other handles."""
        layers = ExceptionMiddleware(AsyncExitStackMiddleware(self.router), handlers=self.exception_handlers)
        return self._around(layers, find=DirectRoutes(self.routes).find)


def create_http_app(
    shards: Shards,
    endpoints: Sequence[Endpoint],
    hosts: Collection[str] = (),
    *,
    reports: bool = False,
    metrics_seconds: float = METRICS_SECONDS,
    metrics_readers: MetricsReaders | None = None,
) -> FastAPI:
    """Make the application over shards that have started; it closes them when it ends.

    ``hosts`` are the host names that requests may be addressed to, all where it is empty. ``reports``: each answer
    reports its call to the Worker in front. Metrics are made anew at most every ``metrics_seconds``, and are for
    ``metrics_readers``; None: for this machine.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            for endpoint in endpoints:
                await running.enter_async_context(endpoint.running())
            yield
        await shards.close()

    app = _Application(
        partial(
            RequestContext,
            hosts=hosts,
            observe=shards.main.metrics.request,
            anonymous=AnonymousTurns(),
            count=shards.main.backends.recall_log.counts.request,
            reports=reports,
            traces=shards.main.metrics.upstream.traces,
        ),
        title=_TITLE,
        version=installed_version(),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
    )
    app.state.shards = shards
    app.state.metrics = LatelyMade(lambda: StaticPage.of(shards.main.metrics.render(), MEDIA_TYPE), metrics_seconds)
    app.state.metrics_readers = metrics_readers or MetricsReaders()
    problems.install(app)
    app.router.routes.extend(_ROUTES)  # include_router would make each route anew, longer than a hundred requests take
    for endpoint in endpoints:
        app.router.routes.extend(endpoint.routes)
    docs.install(app, openapi_document)
    return app
