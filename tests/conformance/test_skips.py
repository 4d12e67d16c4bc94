"""Where Cloudflare's software is not installed, the proofs say so; in CI that is not enough."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIPPED = """
import pytest

@pytest.fixture(autouse=True)
def _installed():
    pytest.skip("no npm")

def test_it():
    pass
"""


@pytest.mark.parametrize(
    ("environment", "code", "says"), [({}, 0, "1 skipped"), ({"CI": "true"}, 1, "no npm: with CI")]
)
def test_a_skip_is_a_failure_in_ci_alone(tmp_path: Path, environment: dict[str, str], code: int, says: str) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conformance.conftest import pytest_runtest_makereport\n")
    (tmp_path / "test_it.py").write_text(SKIPPED)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", tmp_path],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "CI"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert says in done.stdout
