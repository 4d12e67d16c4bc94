"""A running service for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.service import Service, serving


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(tmp_path) as service:
        yield service
