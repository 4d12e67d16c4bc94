"""Facts, the tier with the most statements, through the Container's entry of the edge."""

import pytest

from tests.conformance.edge import Edge, EdgeBackend
from tests.services.tiers.test_facts import *  # noqa: F403 - the same suite, not a copy of it
from tests.support.backends import Backend


@pytest.fixture
def backend(edge: Edge) -> Backend:
    return EdgeBackend(edge, "container")
