"""What the tests of an adapter stand on whose framework lives in an environment of its own (a plugin of pytest).

There the service is not installed: it runs elsewhere on this machine, and the tests are told where. They share it, so
each of them takes agents of its own.
"""

import json
import os
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memory_gateway_client import AsyncMemoryClient, MemoryClient

URL, TOKEN = "APART_URL", "APART_TOKEN"
"""The variables that say where the service is, and have the credential of an administrator."""

Answering = Callable[..., str]
"""Takes a status, a problem's code and headers; returns the URL of a service that answers everything with them."""


def pytest_configure(config: pytest.Config) -> None:
    """Let frameworks warn of themselves; what is ours still must not."""
    for line in ("default", "error:::memory_gateway_client"):
        config.addinivalue_line("filterwarnings", line)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _only_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a connection to any other host: frameworks like to tell of their use."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in {"127.0.0.1", "localhost", "::1"}:
            raise AssertionError(f"A test tried to reach {address[0]}.")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def url() -> str:
    return os.environ[URL]


@pytest.fixture
def token() -> str:
    """The credential of an administrator: it is good for every agent."""
    return os.environ[TOKEN]


@pytest.fixture
def agent() -> str:
    """An agent that no other test has."""
    return f"agent-{secrets.token_hex(6)}"


@pytest.fixture
def client(url: str, token: str, agent: str) -> Iterator[MemoryClient]:
    """A client that waits, for the test's agent."""
    with MemoryClient(url, token, agent_id=agent) as client:
        yield client


@pytest.fixture
async def memory(url: str, token: str, agent: str) -> AsyncIterator[AsyncMemoryClient]:
    """A client to await, for the test's agent."""
    async with AsyncMemoryClient(url, token, agent_id=agent) as memory:
        yield memory


@pytest.fixture
def token_of(client: MemoryClient) -> Callable[[str], str]:
    """Mint a credential for one agent alone."""
    return lambda agent: client.mint_credential(agent_id=agent).token


@pytest.fixture
def nowhere() -> str:
    """Where nobody listens."""
    return "http://127.0.0.1:1"


@pytest.fixture
def silent() -> Iterator[str]:
    """Where somebody listens and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def answering() -> Iterator[Answering]:
    with ExitStack() as servers:

        def started(status: int, code: str, **headers: str) -> str:
            server = _server(status, {"code": code, "detail": "It did not work."}, headers)
            servers.callback(server.server_close)
            servers.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
            return f"http://127.0.0.1:{server.server_port}"

        yield started


def _server(status: int, problem: dict[str, str], headers: dict[str, str]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def __getattr__(self, name: str) -> Callable[[], None]:
            if not name.startswith("do_"):
                raise AttributeError(name)
            return self.answer

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.dumps(problem).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/problem+json", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)
