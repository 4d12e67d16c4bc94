"""A running service for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.backends import Backend
from tests.support.service import Service, serving


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(tmp_path) as service:
        yield service


@pytest.fixture(scope="module")
async def shared_service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """One service for all tests of a module whose requests change nothing."""
    async with serving(tmp_path_factory.mktemp("data")) as service:
        yield service


@pytest.fixture
async def any_service(tmp_path: Path, backend: Backend) -> AsyncIterator[Service]:
    """The service on each backend in turn."""
    async with serving(tmp_path, on=backend) as service:
        yield service
