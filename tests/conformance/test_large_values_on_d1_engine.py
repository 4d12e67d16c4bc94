"""Large values of runs and of working memory, on the engine that D1 runs on."""

import pytest

from tests.services.blobs.test_large_values import *  # noqa: F403 - the same suite, not a copy of it

pytestmark = pytest.mark.usefixtures("on_the_engine")
