"""The running service, and clients of both kinds."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from app.interfaces.asgi import create_app
from memory_gateway_client import AsyncMemoryClient, MemoryClient
from tests.clients.asking import Asked, ask
from tests.support.service import Service, serving

Connect = Callable[..., Asked]
"""Takes what answers a request, and the client's arguments."""


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "TOKEN", "AGENT"):
        monkeypatch.delenv(f"MEMORY_GATEWAY_{name}", raising=False)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(tmp_path) as service:
        yield service


@pytest.fixture(scope="module")
async def shared_service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """One service for all tests of a module that leave nothing behind."""
    async with serving(tmp_path_factory.mktemp("data")) as service:
        yield service


@pytest.fixture
async def url(service: Service) -> AsyncIterator[str]:
    """Where the service listens on a socket."""
    config = uvicorn.Config(create_app(service.shards), port=0, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await running


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def bot(service: Service, kind: str) -> Asked:
    """A client for the agent ``bot`` of the running service, with all rights."""
    return _bot_of(service, kind)


@pytest.fixture
def shared_bot(shared_service: Service, kind: str) -> Asked:
    """The same, for a test that leaves nothing behind."""
    return _bot_of(shared_service, kind)


def _bot_of(service: Service, kind: str) -> Asked:
    token = service.credential(admin=True)["Authorization"].removeprefix("Bearer ")
    return ask(kind, service.client._transport, token=token)  # noqa: SLF001 - the service in this process


@pytest.fixture
def connect(kind: str) -> Connect:
    """Make a client whose requests a function answers."""

    def connected(answer: Callable[[httpx.Request], Any], **arguments: Any) -> Asked:
        return ask(kind, httpx.MockTransport(answer), **arguments)

    return connected


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that clients make; they end at once."""
    made: list[float] = []

    async def paused(seconds: float) -> None:
        made.append(seconds)

    monkeypatch.setattr(MemoryClient, "_sleep", staticmethod(made.append))
    monkeypatch.setattr(AsyncMemoryClient, "_sleep", staticmethod(paused))
    return made
