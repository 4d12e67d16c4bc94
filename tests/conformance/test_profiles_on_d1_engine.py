"""What a profile forgets, lists and deletes, on the engine that D1 runs on."""

import pytest

from tests.services.memories.test_sessions import *  # noqa: F403
from tests.services.profiles.test_forgetting import *  # noqa: F403 - the same suites, not copies of them

pytestmark = pytest.mark.usefixtures("on_the_engine")
