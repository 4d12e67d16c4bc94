"""What an experiment measures."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measurement:
    """One figure of one checkout. The same experiment names the same figures on every checkout."""

    name: str
    unit: str
    value: float | str
    """A number, or a word such as "never" or "503" where there is none."""
    wanted: str
    """What the promise asks, as text: "at most 50"."""
