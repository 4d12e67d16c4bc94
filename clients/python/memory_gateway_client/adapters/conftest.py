"""What the adapters' tests stand on: the running service, and no host but this one."""

import httpx
import pytest

from memory_gateway_client import AsyncMemoryClient
from tests.clients.conftest import _nothing_from_outside, pauses, service, url
from tests.clients.environments import ADAPTERS, environment_of
from tests.conftest import _logging_as_it_was, _no_settings_from_outside, _only_this_machine, anyio_backend
from tests.support.service import Service

collect_ignore = [
    requires.parent.name for requires in ADAPTERS.glob("*/requires.txt") if environment_of(requires.parent)
]
"""Of adapters that live in another environment: ``tests/clients/test_adapters_apart.py`` has their tests run there."""

__all__ = [
    "_logging_as_it_was",
    "_no_settings_from_outside",
    "_nothing_from_outside",
    "_only_this_machine",
    "anyio_backend",
    "memory",
    "pauses",
    "service",
    "token",
    "url",
]


@pytest.fixture
def token(service: Service) -> str:
    """A credential for every agent of the tenant."""
    return service.credential()["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def memory(service: Service, token: str) -> AsyncMemoryClient:
    """A client of the running service, for the agent ``bot``."""
    http = httpx.AsyncClient(transport=service.client._transport)  # noqa: SLF001 - the service in this process
    return AsyncMemoryClient("http://service", token, agent_id="bot", http=http)
