"""Working memory on the engine that D1 runs on."""

import pytest

from tests.services.tiers.test_windows import *  # noqa: F403 - the same suites, not copies of them
from tests.services.tiers.test_working import *  # noqa: F403

pytestmark = pytest.mark.usefixtures("on_the_engine")
