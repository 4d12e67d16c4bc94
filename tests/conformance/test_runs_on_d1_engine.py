"""Runs that keep themselves, and delegated ones with their law, on the engine that D1 runs on."""

import pytest

from tests.services.tiers.test_delegated_runs import *  # noqa: F403 - the same suites, not copies of them
from tests.services.tiers.test_delegated_runs_killed import *  # noqa: F403
from tests.services.tiers.test_runs_keep_themselves import *  # noqa: F403

pytestmark = pytest.mark.usefixtures("on_the_engine")
