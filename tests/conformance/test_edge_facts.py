"""Facts, the tier with the most statements, through both entries of the edge."""

import pytest

from tests.services.tiers.test_facts import *  # noqa: F403 - the same suite, not a copy of it
from tests.support.backends import Backend


@pytest.fixture
def backend(edge_backend: Backend) -> Backend:
    return edge_backend
