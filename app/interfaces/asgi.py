"""The ASGI application: the HTTP interface and the MCP endpoint."""

from fastapi import FastAPI

from app.interfaces.http.application import create_http_app
from app.interfaces.mcp.http import McpEndpoint
from app.runtime.runtime import Runtime


def create_app(runtime: Runtime) -> FastAPI:
    """Make the application over a runtime that has started; it closes the runtime when it ends."""
    return create_http_app(runtime, McpEndpoint(runtime))
