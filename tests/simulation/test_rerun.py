"""A seed is a whole run: the same operations, answers and moments, in this process or another."""

import os
import subprocess
import sys

import pytest

from tests.simulation.test_linearizable import simulate
from tests.simulation.world import Kind

_OPERATIONS = 600
_PROGRAM = "import sys; from tests.simulation.test_linearizable import simulate; {}"
_PRINT = "print(simulate(sys.argv[1], 3, int(sys.argv[2])).trace.digest())"


@pytest.mark.parametrize("kind", ["late", "embedded"])
def test_a_seed_runs_the_same_again_even_under_another_hash_seed(kind: Kind) -> None:
    digest = simulate(kind, 3, _OPERATIONS).trace.digest()
    assert simulate(kind, 3, _OPERATIONS).trace.digest() == digest
    command = [sys.executable, "-c", _PROGRAM.format(_PRINT), kind, str(_OPERATIONS)]
    other = subprocess.run(
        command, env=os.environ | {"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True
    )
    assert other.stdout.split()[-1] == digest


def test_another_seed_is_another_run() -> None:
    assert simulate("late", 3, _OPERATIONS).trace.digest() != simulate("late", 4, _OPERATIONS).trace.digest()
