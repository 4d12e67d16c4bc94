"""The consolidation of memories, on the engine that D1 runs on."""

import pytest

from tests.indexing.test_consolidation import *  # noqa: F403 - the same suites, not copies of them
from tests.indexing.test_consolidation_apart import *  # noqa: F403
from tests.indexing.test_consolidation_law import (  # noqa: F401
    test_an_undo_that_is_killed_at_any_moment_and_made_again_ends_as_one_that_is_not,
    test_killed_at_any_moment_and_made_again_it_ends_as_if_nothing_had_happened,
)
from tests.indexing.test_consolidation_races import *  # noqa: F403

pytestmark = pytest.mark.usefixtures("on_the_engine")
