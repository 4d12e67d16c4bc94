"""What a profile forgets, lists and deletes, on the engine that D1 runs on."""

import pytest

from tests.services.test_forgetting import *  # noqa: F403 - the same suites, not copies of them
from tests.services.test_sessions import *  # noqa: F403

pytestmark = pytest.mark.usefixtures("on_the_engine")
