"""What recall finds by words, on the engine that D1 runs on."""

from functools import partial

import pytest

from tests.conformance.conftest import engine_database
from tests.conformance.d1_engine import D1Engine
from tests.contracts.conftest import Opened
from tests.contracts.test_candidates import *  # noqa: F403 - the same suite, not a copy of it


@pytest.fixture  # type: ignore[no-redef] # in the place of the suite's own
def open_database(engine: D1Engine) -> Opened:
    return partial(engine_database, engine.migrated_database())
