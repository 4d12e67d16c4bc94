"""A seed is a whole run: the same operations, answers and moments, in this process or another."""

import os
import subprocess
import sys
from functools import cache

import pytest

from tests.simulation.test_linearizable import simulate

pytestmark = pytest.mark.thorough

_OPERATIONS = 40
_PROGRAM = f"""
from tests.simulation.test_linearizable import simulate
print(simulate("late", 3, {_OPERATIONS}).trace.digest())
"""


@cache
def _digest() -> str:
    return simulate("late", 3, _OPERATIONS).trace.digest()


def test_a_seed_runs_the_same_again_even_under_another_hash_seed() -> None:
    command = [sys.executable, "-c", _PROGRAM]
    other = subprocess.run(
        command, env=os.environ | {"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True
    )
    assert other.stdout.split()[-1] == _digest()


def test_another_seed_is_another_run() -> None:
    assert simulate("late", 4, _OPERATIONS).trace.digest() != _digest()
