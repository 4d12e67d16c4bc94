"""The archive, on the engine that D1 runs on."""

import pytest

from tests.services.archive.conftest import bench
from tests.services.archive.test_archive import *  # noqa: F403 - the same suites, not copies of them
from tests.services.archive.test_bad_input import *  # noqa: F403
from tests.services.archive.test_killed import *  # noqa: F403

__all__ = ["bench"]
pytestmark = pytest.mark.usefixtures("on_the_engine")
