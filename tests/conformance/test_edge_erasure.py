"""Erasures, of which database, index and object store have a part each, through both entries of the edge."""

import pytest

from tests.indexing.test_erasure import *  # noqa: F403 - the same suite, not a copy of it
from tests.support.backends import Backend


@pytest.fixture
def backend(edge_backend: Backend) -> Backend:
    return edge_backend
