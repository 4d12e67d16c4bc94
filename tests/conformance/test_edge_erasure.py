"""Erasures, of which the database, the index and the object store have a part each, through the Container's entry."""

import pytest

from tests.conformance.edge import Edge, EdgeBackend
from tests.indexing.test_erasure import *  # noqa: F403 - the same suite, not a copy of it
from tests.support.backends import Backend


@pytest.fixture
def backend(edge: Edge) -> Backend:
    return EdgeBackend(edge, "container")
