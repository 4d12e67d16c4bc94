"""The ASGI application: the HTTP interface and the MCP endpoint."""

from collections.abc import Collection

from fastapi import FastAPI

from app.interfaces.http.application import create_http_app
from app.interfaces.mcp.http import McpEndpoint
from app.runtime.shards import Shards


def create_app(shards: Shards, hosts: Collection[str] = (), *, reports: bool = False) -> FastAPI:
    """Make the application over shards that have started; it closes them when it ends.

    ``hosts`` are the names that it may be asked for by, all where none is said; ``reports``: each answer tells the
    Worker in front what the call was.
    """
    return create_http_app(shards, McpEndpoint(shards), hosts, reports=reports)
