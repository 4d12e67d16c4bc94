"""The consolidation of memories, on the engine that D1 runs on."""

import pytest

from tests.indexing.test_consolidation import *  # noqa: F403 - the same suites, not copies of them

pytestmark = pytest.mark.usefixtures("on_the_engine")
