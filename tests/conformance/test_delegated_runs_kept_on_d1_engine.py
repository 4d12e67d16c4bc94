"""What is kept of delegated runs, on the engine that D1 runs on."""

import pytest

from tests.services.tiers.test_delegated_runs_kept import *  # noqa: F403 - the same suite, not a copy of it

pytestmark = pytest.mark.usefixtures("on_the_engine")
