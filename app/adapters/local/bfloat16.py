"""Linear layers that multiply in bfloat16 and add in float32, by the package numkong."""

import numkong
import numpy as np

from app.adapters.local.linear import Matrix


def multiplies_tiles() -> bool:
    """Return whether this processor multiplies tiles of bfloat16 (Intel AMX); without them float32 is faster."""
    return numkong.get_capabilities()["sapphireamx"]


class BFloat16Linear:
    """Multiplies with weights of eight significant bits, and inputs rounded to as many."""

    def __init__(self, weight: Matrix, bias: Matrix) -> None:
        """Take weights with one row for each input."""
        rounded = numkong.astype(np.ascontiguousarray(weight.T), "bfloat16")
        self._weight = numkong.dots_pack(rounded)
        self._bias = bias

    def __call__(self, inputs: Matrix, out: Matrix) -> None:
        """Compute the outputs of rows of inputs."""
        numkong.dots_packed(numkong.astype(inputs, "bfloat16"), self._weight, out=numkong.from_dlpack(out))
        out += self._bias
