"""How much is generated: a little in ``make test``, more in ``make conformance`` (``MORE=1``).

In ``make soak`` (``LONG=1``) there is as much as finds what is rare.
"""

import os

from hypothesis import settings

LONG = "LONG" in os.environ
MORE = "MORE" in os.environ
_SHARE = 12 if MORE else 30
_FEWEST = 5 if MORE else 3
ON_THE_DOUBLE = 12 if LONG else 5
"""Examples of a law on the stand-in account: each has an account of its own."""

# A deadline of wall-clock time fails on a busy machine.
settings.register_profile("short", max_examples=10 if MORE else 3, deadline=None)
settings.register_profile("long", max_examples=200, deadline=None)
settings.load_profile("long" if LONG else "short")


def examples(full: int) -> int:
    """Return how many examples are made of those that a long run makes."""
    return full if LONG else max(_FEWEST, full // _SHARE)
