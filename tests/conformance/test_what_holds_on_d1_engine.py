"""Corrections, and the triggers that keep them right, on the engine that D1 runs on."""

import pytest

from tests.services.memories.test_what_holds import *  # noqa: F403 - the same suite, not a copy of it

pytestmark = pytest.mark.usefixtures("on_the_engine")
