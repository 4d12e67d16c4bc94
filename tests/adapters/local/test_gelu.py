"""The Gaussian error linear unit against its definition."""

import math

import numpy as np
import pytest

from app.adapters.local.gelu import gelu, rounded_gelu
from app.adapters.local.linear import Matrix


def by_definition(inputs: Matrix) -> list[float]:
    return [x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in inputs.tolist()]


def test_the_unit_is_what_its_definition_says() -> None:
    inputs = np.linspace(-8, 8, 10_001, dtype=np.float32)
    outputs = inputs.copy()
    gelu(outputs)
    np.testing.assert_allclose(outputs, by_definition(inputs), rtol=1e-6, atol=1e-6)


def test_the_quicker_unit_is_the_definition_to_three_tenthousandths() -> None:
    inputs = np.linspace(-50, 50, 100_001, dtype=np.float32)
    outputs = inputs.copy()
    rounded_gelu(outputs)
    np.testing.assert_allclose(outputs, by_definition(inputs), rtol=1e-6, atol=3e-4)


@pytest.mark.parametrize("large", [1e4, 1e15, 1e30])
def test_the_quicker_unit_of_a_large_value_is_the_value_or_nothing(large: float) -> None:
    outputs = np.array([large, -large], np.float32)
    with np.errstate(over="ignore"):
        rounded_gelu(outputs)
    np.testing.assert_array_equal(outputs, np.array([large, 0], np.float32))
