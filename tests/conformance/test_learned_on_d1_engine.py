"""What was learned, and the triggers by which it follows its messages, on the engine that D1 runs on."""

import pytest

from tests.storage.test_learned import *  # noqa: F403 - the same suites, not copies of them
from tests.storage.test_learned_deletion import *  # noqa: F403

pytestmark = pytest.mark.usefixtures("on_the_engine")
