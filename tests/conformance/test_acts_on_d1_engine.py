"""The rows of administrative acts, on the engine that D1 runs on."""

import pytest

from tests.services.access.test_acts import *  # noqa: F403 - the same suite, not a copy of it

pytestmark = pytest.mark.usefixtures("on_the_engine")
