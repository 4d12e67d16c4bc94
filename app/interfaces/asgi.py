"""The ASGI application: the HTTP interface and the MCP endpoint."""

from collections.abc import Collection

from fastapi import FastAPI

from app.interfaces.http.application import create_http_app
from app.interfaces.mcp.http import McpEndpoint
from app.runtime.shards import Shards


def create_app(shards: Shards, hosts: Collection[str] = (), *, reports: bool = False) -> FastAPI:
    """Make the application over shards that have started; it closes them when it ends.

    ``hosts`` are the host names that requests may be addressed to, all where it is empty; ``reports``: each answer
    reports its call to the Worker in front.
    """
    return create_http_app(shards, McpEndpoint(shards), hosts, reports=reports)
