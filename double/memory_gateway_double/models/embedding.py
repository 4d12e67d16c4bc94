"""Makes embeddings without a model: words and character trigrams, hashed to any number of dimensions.

The same text gives the same vector everywhere; texts that share words or parts of words come out near
each other; it knows nothing of meaning. Each model has a space of its own.
"""

import re
import zlib

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float32]

_WORD = re.compile(r"\w+")
_MULTIPLIER = np.uint32(0x9E3779B1)
_TRIGRAM_WEIGHT = 0.5


def embed(model: str, text: str, dimensions: int) -> Values:
    """Return the vector of a text, of unit length."""
    folded = " ".join(text.casefold().split())
    salt = zlib.crc32(model.encode())
    words = np.array([zlib.crc32(_bytes(word), salt) for word in _WORD.findall(folded)], np.uint32)
    trigrams = _trigrams(f" {folded} ", salt)
    weights = np.concatenate([np.ones(len(words)), np.full(len(trigrams), _TRIGRAM_WEIGHT)])
    mixed = _mix(np.concatenate([words, trigrams]))
    signs = 1.0 - 2.0 * (mixed & np.uint32(1))
    sums = np.bincount((mixed >> np.uint32(1)) % np.uint32(dimensions), signs * weights, dimensions)
    if not sums.any():  # nothing but white space, or features that cancel each other out
        sums[zlib.crc32(_bytes(text), salt) % dimensions] = 1.0
    unit: Values = (sums / np.linalg.norm(sums)).astype(np.float32)
    return unit


def instructed(model: str, instruction: str, text: str, dimensions: int) -> Values:
    """Return the vector of a text under an instruction: near the text's own, not equal to it."""
    mixed = embed(model, text, dimensions) + np.float32(0.2) * embed(model, instruction, dimensions)
    unit: Values = (mixed / np.linalg.norm(mixed)).astype(np.float32)
    return unit


def tokens(text: str) -> int:
    """Estimate a text's tokens: one for every four bytes."""
    return -(-len(_bytes(text)) // 4)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _trigrams(text: str, salt: int) -> npt.NDArray[np.uint32]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32) * _MULTIPLIER
    grams: npt.NDArray[np.uint32] = (codes[:-2] * _MULTIPLIER + codes[1:-1]) * _MULTIPLIER + codes[2:]
    return grams ^ np.uint32(salt)


def _mix(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Spread numbers over all 32 bits, wrapping around."""
    mixed = numbers * _MULTIPLIER
    mixed ^= mixed >> np.uint32(15)
    mixed *= _MULTIPLIER
    mixed ^= mixed >> np.uint32(13)
    return mixed
