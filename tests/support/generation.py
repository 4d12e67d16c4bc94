"""How much is generated: in every run a little, in ``make soak`` (``LONG=1``) as much as finds what is rare."""

import os

from hypothesis import settings

LONG = "LONG" in os.environ
_SHARE = 12
_FEWEST = 5
ON_THE_DOUBLE = 12
"""Examples of a law on the stand-in account: each has an account of its own."""

# A deadline of wall-clock time fails on a busy machine.
settings.register_profile("short", max_examples=10, deadline=None)
settings.register_profile("long", max_examples=200, deadline=None)
settings.load_profile("long" if LONG else "short")


def examples(full: int) -> int:
    """Return how many examples are made of those that a long run makes."""
    return full if LONG else max(_FEWEST, full // _SHARE)
