"""A source and a target, on each backend in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path / "source", backend) as bench:
        yield bench


@pytest.fixture
async def target(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    """Another deployment, which is empty."""
    async with bench_on(tmp_path / "target", backend) as bench:
        yield bench
