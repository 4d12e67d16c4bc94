"""Linear layers give the same outputs however their weights lie."""

import numpy as np
import pytest

from app.adapters.local.linear import BlockedLinear, Linear, WholeLinear, linear


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
