"""Ingesting, and what goes on later, on the engine that D1 runs on."""

import pytest

from tests.services.ingest.test_going_on import *  # noqa: F403 - the same suite, not a copy of it
from tests.services.ingest.test_ingest import *  # noqa: F403
from tests.services.ingest.test_largest import *  # noqa: F403

pytestmark = pytest.mark.usefixtures("on_the_engine")
