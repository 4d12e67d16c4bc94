"""Ways to reach the tools, each with a client of the protocol's own SDK."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import httpx2
import mcp_types as types
import pytest
import uvicorn
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from starlette.types import ASGIApp

from tests.process.forks import command
from tests.process.server import environment
from tests.support.service import Service

Transport: TypeAlias = Literal["http auto", "http handshake", "http modern", "stdio embedded", "stdio passing on"]
TRANSPORTS: tuple[Transport, ...] = (
    "http auto",
    "http handshake",
    "http modern",
    "stdio embedded",
    "stdio passing on",
)
MODERN = "2026-07-28"
OF_TRANSPORTS = [pytest.param(each, marks=[pytest.mark.thorough] * (each in TRANSPORTS[1:3])) for each in TRANSPORTS]
"""Each transport for a test; two that differ from the first in the version of the protocol alone are thorough."""
OF_MODES = ["auto", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("legacy", MODERN))]
"""The same for the versions of the protocol."""
MODES = {"http auto": "auto", "http handshake": "legacy", "http modern": MODERN}
ROOT = Path(__file__).parents[3]
SECONDS = 20
"""How long any answer may take before a test fails."""


@asynccontextmanager
async def over_http(service: Service, headers: Mapping[str, str], mode: str = "auto") -> AsyncIterator[Client]:
    """Connect to the service in this process."""
    transport = httpx2.ASGITransport(service.app)
    async with (
        httpx2.AsyncClient(transport=transport, headers=dict(headers)) as http,
        Client(
            streamable_http_client("http://service/mcp", http_client=http), mode=mode, read_timeout_seconds=SECONDS
        ) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(data_dir: Path, *options: str, mode: str = "auto", **settings: str) -> AsyncIterator[Client]:
    """Connect to a ``memory-gateway mcp`` that is started for it; its standard error goes into a file beside the data.

    What it writes there is read with ``log_of``.
    """
    program, *arguments = command("mcp", *options)
    started = StdioServerParameters(
        command=program,
        args=arguments,
        env=environment(data_dir, PYTHONPATH=str(ROOT), **settings),
        cwd=data_dir.parent,
    )
    with _log_file(data_dir).open("a", encoding="utf-8") as errors:
        async with Client(stdio_client(started, errors), mode=mode, read_timeout_seconds=SECONDS) as client:
            yield client


def log_of(data_dir: Path) -> str:
    """Return what the commands over this data have written to standard error, but for where the memories are."""
    written = _log_file(data_dir).read_text(encoding="utf-8")
    return written.replace(f"Memories are kept in {data_dir}.\n", "")


def _log_file(data_dir: Path) -> Path:
    return data_dir.with_name("mcp.log")


@asynccontextmanager
async def listening(
    app: ASGIApp, port: int = 0, http: type[asyncio.Protocol] | Literal["auto"] = "auto"
) -> AsyncIterator[str]:
    """Let an application of this process listen on a socket, and return its URL."""
    server = uvicorn.Server(uvicorn.Config(app, port=port, http=http, log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def connected(transport: Transport, service: Service, data_dir: Path, **settings: str) -> AsyncIterator[Client]:
    """Connect to the tools of the tenant ``acme``'s agent ``bot`` over the service's data.

    ``settings`` are those that a process of its own needs to come to the same data.
    """
    credential = service.credential(agent="bot")
    if transport in MODES:
        async with over_http(service, credential, MODES[transport]) as client:
            if transport == "http modern":  # which asks nothing by itself
                told = await client.session.send_discover(MODERN)
                client.session.adopt(types.DiscoverResult.model_validate(told))
            yield client
    elif transport == "stdio embedded":
        async with over_stdio(data_dir, "--tenant", "acme", "--agent", "bot", **settings) as client:
            yield client
    else:
        token = credential["Authorization"].removeprefix("Bearer ")
        async with (
            listening(service.app) as url,
            over_stdio(data_dir, "--url", url, MEMORY_GATEWAY_TOKEN=token) as client,
        ):
            yield client
