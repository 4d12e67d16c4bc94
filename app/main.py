"""The ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from app.api import docs, problems
from app.api.data_routes import data
from app.api.discovery import discovery
from app.api.middleware import RequestContext
from app.api.routes import memory, operations
from app.api.tool_routes import tools
from app.api.transfer_routes import transfer
from app.mcp_server.http import McpEndpoint
from app.runtime import Runtime


def create_app(runtime: Runtime) -> FastAPI:
    """Make the application over a runtime that has started; it closes the runtime when it ends."""
    mcp = McpEndpoint(runtime)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.running():
            yield
        await runtime.close()

    app = FastAPI(
        title="Memory Gateway",
        version=version("memory-gateway"),
        description="Long-term memory for AI agents. The tenant comes from the credential, never from a request.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.runtime = runtime
    app.add_middleware(RequestContext)
    problems.install(app)
    app.include_router(memory)
    app.include_router(data)
    app.include_router(operations)
    app.include_router(transfer)
    app.include_router(tools)
    app.include_router(discovery)
    app.router.routes.append(mcp.route)
    docs.install(app)
    return app
