"""Messages of runs that are undone, on the engine that D1 runs on."""

import pytest

from tests.services.ingest.test_runs_undone import *  # noqa: F403 - the same suite, not a copy of it

pytestmark = pytest.mark.usefixtures("on_the_engine")
