from pathlib import Path

import pytest

from tests.interfaces.cli.line import Line
from tests.support import migrated


@pytest.fixture
def new_line(tmp_path: Path) -> Line:
    """Run commands on a directory that is not there yet."""
    return Line(tmp_path / "data")


@pytest.fixture
def line(tmp_path: Path) -> Line:
    migrated.prepare(tmp_path / "data")
    return Line(tmp_path / "data")
