"""Linear layers give the same outputs however their weights lie, and nearly the same in bfloat16."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from app.adapters.local.bfloat16 import BFloat16Linear
from app.adapters.local.linear import BlockedLinear, Linear, Matrix, WholeLinear, linear


@pytest.mark.parametrize("kind", [WholeLinear, BlockedLinear, linear])
@pytest.mark.parametrize(("inputs", "outputs"), [(384, 1152), (1536, 384), (64, 32)])
@pytest.mark.parametrize("rows", [1, 4, 20, 24, 81, 250])
def test_outputs_are_the_inputs_times_the_weights_and_the_biases(
    kind: type[WholeLinear | BlockedLinear], inputs: int, outputs: int, rows: int
) -> None:
    chance = np.random.default_rng(rows)
    weight, bias = chance.normal(size=(inputs, outputs)), chance.normal(size=outputs)
    given = chance.normal(size=(rows, inputs))
    layer: Linear = kind(weight.astype(np.float32), bias.astype(np.float32))
    out = np.empty((rows, outputs), np.float32)
    layer(given.astype(np.float32), out)
    np.testing.assert_allclose(out, given @ weight + bias, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("inputs", "outputs"), [(8, 24), (4096, 1024)])
def test_a_layer_that_has_no_blocks_or_too_few_rows_for_them_is_multiplied_whole(inputs: int, outputs: int) -> None:
    assert isinstance(linear(np.ones((inputs, outputs), np.float32), np.ones(outputs, np.float32)), WholeLinear)


def random_layer(inputs: int, outputs: int) -> tuple[Matrix, Matrix]:
    chance = np.random.default_rng(inputs)
    return chance.normal(size=(inputs, outputs)).astype(np.float32), chance.normal(size=outputs).astype(np.float32)


def applied(layer: Linear, given: Matrix, outputs: int) -> Matrix:
    out = np.empty((len(given), outputs), np.float32)
    layer(given, out)
    return out


@pytest.mark.parametrize(("inputs", "outputs"), [(384, 1152), (1536, 384), (8, 24), (64, 32)])
@pytest.mark.parametrize("rows", [1, 4, 20, 81, 250])
def test_outputs_in_bfloat16_are_within_half_a_percent(inputs: int, outputs: int, rows: int) -> None:
    weight, bias = random_layer(inputs, outputs)
    given = np.random.default_rng(rows).normal(size=(rows, inputs)).astype(np.float32)
    expected = given.astype(np.float64) @ weight + bias
    error = applied(BFloat16Linear(weight, bias), given, outputs) - expected
    assert np.linalg.norm(error) < 0.005 * np.linalg.norm(expected)


def test_an_output_in_bfloat16_does_not_depend_on_the_other_rows_or_on_other_threads() -> None:
    layer = BFloat16Linear(*random_layer(384, 1152))
    given = np.random.default_rng(1).normal(size=(37, 384)).astype(np.float32)
    together = applied(layer, given, 1152)
    with ThreadPoolExecutor(8) as threads:
        alone = list(threads.map(lambda row: applied(layer, row[np.newaxis], 1152), np.tile(given, (20, 1))))
    np.testing.assert_array_equal(np.concatenate(alone), np.tile(together, (20, 1)))
