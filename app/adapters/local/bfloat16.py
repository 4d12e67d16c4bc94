"""Linear layers that multiply in bfloat16 and add in float32, by the package numkong."""

import ctypes
import sys

import numkong
import numpy as np

from app.adapters.local.linear import Matrix

_ARCH_PRCTL, _ARCH_GET_XCOMP_PERM = 158, 0x1022
_TILES = 1 << 18
"""The tiles' data among the states of a process (https://docs.kernel.org/arch/x86/xstate.html)."""


def multiplies_tiles() -> bool:
    """Return whether this process may multiply tiles of bfloat16 (Intel AMX); without them float32 is faster."""
    return numkong.get_capabilities()["sapphireamx"] and tiles_are_granted()


def tiles_are_granted() -> bool:
    """Return whether Linux lets this process use tiles: numkong asks for it, and does not tell if it is refused."""
    if sys.platform != "linux":
        return False
    granted = ctypes.c_uint64()
    answer = ctypes.CDLL(None).syscall(_ARCH_PRCTL, _ARCH_GET_XCOMP_PERM, ctypes.byref(granted))
    return answer == 0 and bool(granted.value & _TILES)


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
