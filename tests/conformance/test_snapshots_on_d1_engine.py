"""Snapshots, on the engine that D1 runs on."""

import pytest

from tests.services.snapshots.conftest import _small_parts, bench
from tests.services.snapshots.test_bad_input import *  # noqa: F403 - the same suites, not copies of them
from tests.services.snapshots.test_erasure import *  # noqa: F403
from tests.services.snapshots.test_killed import *  # noqa: F403
from tests.services.snapshots.test_snapshots import *  # noqa: F403

__all__ = ["_small_parts", "bench"]
pytestmark = pytest.mark.usefixtures("on_the_engine")
