"""The running service, and its tools over every transport."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp.client.client import Client

from tests.interfaces.mcp.connections import OF_TRANSPORTS, connected
from tests.support.service import Service, serving


@dataclass(frozen=True, slots=True)
class Connected:
    """A client of the tools, for the tenant ``acme`` and its agent ``bot``, and the service over the same data."""

    client: Client
    service: Service


@pytest.fixture(scope="module", params=OF_TRANSPORTS)
async def connection(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Connected]:
    """One connection for all tests of a module: each of them has memories of its own words."""
    data_dir = tmp_path_factory.mktemp("mcp") / "data"
    async with serving(data_dir) as service, connected(request.param, service, data_dir) as client:
        yield Connected(client, service)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(tmp_path / "data") as service:
        yield service
