"""The undo of what was taught, on the engine that D1 runs on."""

import pytest

from tests.services.memories.test_undo_taught import *  # noqa: F403 - the same suites, not copies of them

pytestmark = pytest.mark.usefixtures("on_the_engine")
