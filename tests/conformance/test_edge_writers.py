"""End to end through both entries of the edge: what each route and tool writes, and whom it names as the writer."""

import pytest

from tests.interfaces.test_writers import *  # noqa: F403 - the same suite, not a copy of it
from tests.support.backends import Backend


@pytest.fixture
def backend(edge_backend: Backend) -> Backend:
    return edge_backend
