"""Lengths of time: how a question asks for one, and how one is told."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from dateutil.relativedelta import relativedelta

from app.language.dates.time_words import FORMS_OF_UNITS

Unit = Literal["day", "week", "month", "year"]
Ends = Literal["past", "future", "between"]
"""From a day of the past until today, from today until a day to come, or between two days."""

_UNITS: Final[tuple[Unit, ...]] = ("year", "month", "week", "day")
_MAX_READ = 500
_LONG = 60
"""From so many days on, the months and years are told beside them."""
_WEEK = 7
_HOW = re.compile(
    r"(?<!\w)(?P<back>vor )?(?:how long|how much time|hur länge|hur lång tid|wie lange|wie viel zeit"
    rf"|(?:how many|hur många|wie vielen?) (?P<unit>{'|'.join(FORMS_OF_UNITS)}))(?!\w)"
)
_ENDS = re.compile(
    r"(?<!\w)(?:(?P<past>ago|since|sedan|sen|seit|her)|(?P<future>until|till|tills|bis)"
    r"|(?P<between>between|after|before|mellan|efter|före|innan|zwischen|nach|nachdem|vor|bevor))(?!\w)"
)


@dataclass(frozen=True, slots=True)
class LengthAsked:
    """A length of time that is asked for; without a unit it is told in those that are usual for it."""

    ends: Ends
    unit: Unit | None


def length_asked(question: str) -> LengthAsked | None:
    """Return what length a question asks for, in English, Swedish or German; None where it says no end of it."""
    text = " ".join(question[:_MAX_READ].lower().split())
    how = _HOW.search(text)
    ends = how and _ENDS.search(text, how.end())
    if how is None or (ends is None and how["back"] is None):
        return None
    unit = next((unit for unit in _UNITS if unit == FORMS_OF_UNITS.get(how["unit"] or "")), None)
    if how["back"] or ends is None or ends["past"]:
        return LengthAsked("past", unit)
    return LengthAsked("future" if ends["future"] else "between", unit)


def length(first: int, last: int, unit: Unit | None = None) -> str:
    """Return how long it is from one day (its ordinal) to a later one: "2 months and 9 days"."""
    days = last - first
    if unit == "day" or (unit is None and days < _LONG):
        return _joined({"day": days}, "day")
    if unit == "week":
        return _joined({"week": days // _WEEK, "day": days % _WEEK}, unit)
    between = relativedelta(date.fromordinal(last), date.fromordinal(first))
    if unit == "month":
        return _joined({"month": 12 * between.years + between.months, "day": between.days}, unit)
    told = _joined({"year": between.years, "month": between.months, "day": between.days}, "day")
    return told if unit else f"{days} days, that is {told}"


def _joined(counts: Mapping[Unit, int], unit: Unit) -> str:
    """Return the parts of which there is any, or none of the unit."""
    parts = [f"{counts[each]} {each}{'s' * (counts[each] != 1)}" for each in _UNITS if counts.get(each)]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:]))) or f"0 {unit}s"
