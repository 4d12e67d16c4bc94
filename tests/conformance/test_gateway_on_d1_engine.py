"""The whole suite of the gateway, and so every statement it makes, on the engine that D1 runs on."""

import pytest

from tests.services.memories.test_gateway import *  # noqa: F403 - the same suite, not a copy of it

pytestmark = pytest.mark.usefixtures("on_the_engine")
