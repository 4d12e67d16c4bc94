"""Estimates how hard a secret is to guess, so that one that was typed and not drawn is refused."""

import zlib
from collections import Counter
from itertools import pairwise
from math import log2

BITS = 60
"""Of a secret that signs: below it whoever has a credential may find the secret by trying. By this estimate 32
hexadecimal digits that were drawn have 80 to 120, and 32 decimal digits 60 to 100."""
_FRAME_BYTES = len(zlib.compress(b""))


def bits(secret: str) -> float:
    """Return about how many bits a secret has for who knows that people repeat patterns and count upwards.

    It is the entropy of its characters, for as many of them as do not repeat earlier ones; or that of the steps from
    one character to the next, where these repeat more, as in a row of letters or digits.
    """
    text = secret.encode()
    steps = bytes((after - before) % 256 for before, after in pairwise(text))
    return min(_of(text), _of(steps))


def _of(text: bytes) -> float:
    counts, length = Counter(text).values(), len(text)
    each = -sum(count / length * log2(count / length) for count in counts) if length else 0.0
    new = min(length, len(zlib.compress(text, 9)) - _FRAME_BYTES)  # what repeats is a reference to where it stood
    return each * new
