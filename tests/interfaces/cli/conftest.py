from pathlib import Path

import pytest

from tests.interfaces.cli.line import Line


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path / "data")
