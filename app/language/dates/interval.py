"""A stretch of days."""

from datetime import date
from typing import NamedTuple


class Interval(NamedTuple):
    """The days from ``first`` to the one before ``after``, counted as ``date.toordinal`` does."""

    first: int
    after: int

    @classmethod
    def of_day(cls, day: int) -> "Interval":
        """Return the interval of one day."""
        return cls(day, day + 1)

    @property
    def is_day(self) -> bool:
        """Whether the interval is one day."""
        return self.after - self.first == 1

    @property
    def date(self) -> date:
        """The first day of the interval."""
        return date.fromordinal(self.first)

    def includes(self, other: "Interval") -> bool:
        """Tell whether all days of another interval are in this interval."""
        return self.first <= other.first and other.after <= self.after

    def overlaps(self, other: "Interval") -> bool:
        """Tell whether a day of another interval is in this interval."""
        return self.first < other.after and other.first < self.after
