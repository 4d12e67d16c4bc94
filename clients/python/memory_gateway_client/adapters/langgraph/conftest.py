"""The running service, clients of it, and the guards that every test of the project has."""

from collections.abc import Callable, Iterator

import pytest

from memory_gateway_client import MemoryClient
from tests.clients.conftest import _nothing_from_outside, service, url
from tests.conftest import _logging_as_it_was, _no_settings_from_outside, _only_this_machine, anyio_backend
from tests.service import Service

__all__ = [
    "_logging_as_it_was",
    "_no_settings_from_outside",
    "_nothing_from_outside",
    "_only_this_machine",
    "anyio_backend",
    "service",
    "url",
]

Connect = Callable[..., MemoryClient]
"""Takes what of a credential is not the usual: an administrator's is."""


@pytest.fixture
def connect(service: Service, url: str) -> Iterator[Connect]:
    """Make a client for the agent ``bot``."""
    clients: list[MemoryClient] = []

    def connected(*, agent: str | None = None, admin: bool = True) -> MemoryClient:
        token = service.credential(agent=agent, admin=admin)["Authorization"].removeprefix("Bearer ")
        clients.append(MemoryClient(url, token, agent_id="bot"))
        return clients[-1]

    yield connected
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Connect) -> MemoryClient:
    return connect()
