"""Exports and imports, the largest runs there are, through the public entry of the edge."""

import pytest

from tests.conformance.edge import Edge, EdgeBackend
from tests.services.transfer.conftest import bench, target
from tests.services.transfer.test_round_trip import *  # noqa: F403 - the same suite, not a copy of it
from tests.support.backends import Backend

__all__ = ["bench", "target"]


@pytest.fixture
def backend(edge: Edge) -> Backend:
    return EdgeBackend(edge, "worker")
