"""Estimates how hard a secret is to guess, so that a secret that was typed and not drawn is refused."""

import zlib
from collections import Counter
from itertools import pairwise
from math import log2

BITS = 60
"""The least bits of a secret that signs: the holder of a credential may find a weaker secret by trying.

By this estimate 32 hexadecimal digits that were drawn have 80 to 120 bits, and 32 decimal digits 60 to 100.
"""
_FRAME_BYTES = len(zlib.compress(b""))


def bits(secret: str) -> float:
    """Return about how many bits a secret has, for an attacker that expects repeated patterns and upward counts.

    The estimate is the entropy of the characters, for those characters that do not repeat earlier ones; or the same for
    the steps from one character to the next, where these repeat more, as in a row of letters or digits.
    """
    text = secret.encode()
    steps = bytes((after - before) % 256 for before, after in pairwise(text))
    return min(_of(text), _of(steps))


def _of(text: bytes) -> float:
    counts, length = Counter(text).values(), len(text)
    each = -sum(count / length * log2(count / length) for count in counts) if length else 0.0
    new = min(length, len(zlib.compress(text, 9)) - _FRAME_BYTES)  # a repetition becomes a reference
    return each * new
