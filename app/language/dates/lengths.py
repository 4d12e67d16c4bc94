"""Tells the length of time between two days, or between two stretches of days."""

from collections.abc import Mapping
from datetime import date
from typing import Final, Literal

from dateutil.relativedelta import relativedelta

Unit = Literal["day", "week", "month", "year"]

UNITS: Final[tuple[Unit, ...]] = ("year", "month", "week", "day")
_LONG = 60
"""The number of days from which on the months and years are told beside the days."""
_WEEK = 7


def length(first: int, last: int, unit: Unit | None = None) -> str:
    """Return the length of time from one day (an ordinal) to a later day: "2 months and 9 days"."""
    days = last - first
    if unit == "day" or (unit is None and days < _LONG):
        return _joined({"day": days}, "day")
    if unit == "week":
        return _joined({"week": days // _WEEK, "day": days % _WEEK}, unit)
    between = relativedelta(date.fromordinal(last), date.fromordinal(first))
    if unit == "month":
        return _joined({"month": 12 * between.years + between.months, "day": between.days}, unit)
    written = _joined({"year": between.years, "month": between.months, "day": between.days}, "day")
    return written if unit else f"{days} days, that is {written}"


def length_of(first: tuple[int, int], last: tuple[int, int], unit: Unit | None = None) -> str:
    """Return the length of time from a day of one interval to a day of a later interval: its bounds, if they differ."""
    least, most = (first[1] - 1, last[0]), (first[0], last[1] - 1)
    if least == most:
        return length(*least, unit)
    unit = unit or ("year" if most[1] - most[0] >= _LONG else "day")
    return f"at least {length(*least, unit)}, at most {length(*most, unit)}"


def _joined(counts: Mapping[Unit, int], unit: Unit) -> str:
    """Return the parts whose count is not zero, or "0" of the unit."""
    parts = [f"{counts[name]} {name}{'s' * (counts[name] != 1)}" for name in UNITS if counts.get(name)]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:]))) or f"0 {unit}s"
