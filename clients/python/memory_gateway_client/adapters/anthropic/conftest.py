"""The memory tool on a client of the running service."""

from collections.abc import Callable, Iterator

import pytest

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.anthropic import MemoryTool
from tests.support.service import Service

Connect = Callable[..., MemoryClient]
"""Takes the agent, and whether the credential is an administrator's: by default it is for this agent alone."""


@pytest.fixture
def connect(service: Service, url: str) -> Iterator[Connect]:
    """Make clients of the running service."""
    clients: list[MemoryClient] = []

    def connected(agent_id: str = "bot", *, admin: bool = False) -> MemoryClient:
        credential = service.credential(agent=None if admin else agent_id, admin=admin)
        clients.append(MemoryClient(url, credential["Authorization"].removeprefix("Bearer "), agent_id=agent_id))
        return clients[-1]

    yield connected
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Connect) -> MemoryClient:
    """A client for the agent ``bot``, with a credential for it alone."""
    return connect()


@pytest.fixture
def tool(client: MemoryClient) -> MemoryTool:
    """The memory tool of the agent ``bot``."""
    return MemoryTool(client)
