"""The ASGI application: the HTTP interface and the MCP endpoint."""

from collections.abc import Collection

from fastapi import FastAPI

from app.interfaces.http.application import create_http_app
from app.interfaces.mcp.http import McpEndpoint
from app.runtime.runtime import Runtime


def create_app(runtime: Runtime, hosts: Collection[str] = ()) -> FastAPI:
    """Make the application over a runtime that has started; it closes the runtime when it ends.

    ``hosts`` are the names that it may be asked for by, all where none is said.
    """
    return create_http_app(runtime, McpEndpoint(runtime), hosts)
