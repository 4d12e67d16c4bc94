"""Clients that wait, of the running service."""

from collections.abc import Callable, Iterator

import pytest

from memory_gateway_client import MemoryClient
from tests.support.service import Service

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
    """A client with all rights."""
    return connect()
