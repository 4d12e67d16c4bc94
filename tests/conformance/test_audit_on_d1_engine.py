"""What runs have called and what recalls leave behind, on the engine that D1 runs on."""

import pytest

from tests.services.tiers.test_audit import *  # noqa: F403 - the same suites, not copies of them
from tests.services.tiers.test_recall_log import *  # noqa: F403

pytestmark = pytest.mark.usefixtures("on_the_engine")
