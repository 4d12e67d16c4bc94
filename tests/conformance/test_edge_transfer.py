"""Exports and imports, the largest runs there are, through both entries of the edge."""

import pytest

from tests.services.transfer.conftest import bench, target
from tests.services.transfer.test_round_trip import *  # noqa: F403 - the same suite, not a copy of it
from tests.support.backends import Backend

__all__ = ["bench", "target"]


@pytest.fixture
def backend(edge_backend: Backend) -> Backend:
    return edge_backend
