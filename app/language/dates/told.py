"""Finds the expressions of time in a text with every day that each may mean, and tells whether a day is told."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date

from app.language.dates import time_words
from app.language.dates.days import swapped
from app.language.dates.time_readings import RELATIVE, Days, read, yearly
from app.language.dates.time_spans import Span, expressions, in_small_letters

_YEAR = 365
_YEAR_END = date(2000, 12, 31).toordinal()
"""A day on which each date without its year has been that year."""
_WEEK = 7


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """text[starts:ends] tells a time. ``days``: each stretch that it may mean (ordinals, the second is the day after).

    ``fixed``: it names its year, so that it means the same whenever it is said.
    """

    starts: int
    ends: int
    text: str
    days: frozenset[Days]
    fixed: bool
    weekday: int | None = None
    yearly: bool = False


def told(text: str, today: int | None) -> list[TimeExpression]:
    """Return what a text tells of time when it is said on the day ``today`` (an ordinal); None: on no known day."""
    lowered = in_small_letters(text)
    return [_told(span, lowered[span.starts : span.ends], today) for span in expressions(text)]


def _told(span: Span, said: str, today: int | None) -> TimeExpression:
    text = (said if span.sure else span.text).rstrip(".")
    weekday = time_words.WEEKDAYS.get(text.split()[-1]) if span.sure or span.kind == "weekday" else None
    is_relative = span.kind in RELATIVE or bool(span.shift or span.part)
    is_yearly = weekday is None and not is_relative and yearly(span.kind, span.text)
    if span.kind == "weekday":
        readings = _weekdays(time_words.WEEKDAYS[span.text], today)
    elif is_relative:
        readings = _relative(span, today)
    elif is_yearly:
        around = (_YEAR_END,) if today is None else (today, min(today + _YEAR, date.max.toordinal()))
        readings = (read(span.kind, span.text, "", "", day) for day in around)
    else:
        readings = (read(span.kind, each, "", "", 1) for each in (span.text, swapped(span) or span.text))
    is_fixed = weekday is None and not is_relative and not is_yearly
    return TimeExpression(span.starts, span.ends, text, frozenset(filter(None, readings)), is_fixed, weekday, is_yearly)


def _weekdays(weekday: int, today: int | None) -> Iterator[Days | None]:
    """Give the last and the next day of a name, on whose day it may be today."""
    if today is not None:
        ahead = (weekday - date.fromordinal(today).weekday()) % _WEEK
        days = (today + ahead - _WEEK, today + ahead)
        yield from ((day, day + 1) for day in days if 0 < day < date.max.toordinal())


def _relative(span: Span, today: int | None) -> Iterator[Days | None]:
    """Give what "last week", "two weeks ago" or "next Friday" may mean."""
    if today is None:
        return
    days = read(span.kind, span.text, span.shift, span.part, today)
    yield days
    if span.kind == "ago" and not span.shift and (span.sure or span.text.endswith("ago")):
        yield read("exact", span.text, "", "", today)
    which, thing = (*span.text.split(), "")[:2]
    if span.kind == "which" and not span.sure and thing in time_words.WEEKDAYS and time_words.WHICH[which] > 0:
        days = read(span.kind, span.text, "", "", today)
        yield None if days is None or days[1] + _WEEK > date.max.toordinal() else (days[0] + _WEEK, days[1] + _WEEK)


def supported(each: TimeExpression, said: Collection[TimeExpression], readings: Collection[Days]) -> bool:
    """Tell whether a time is told by ``said`` or by ``readings``, the stretches of time that the sources mean.

    A stretch that holds one of those is told too ("in March" of "on 12 March"), a part of it is not.
    """
    if not each.fixed and any(other.text == each.text for other in said):
        return True
    if each.weekday is not None and not each.fixed:
        return any(other.weekday == each.weekday for other in said) or any(
            days[1] - days[0] == 1 and date.fromordinal(days[0]).weekday() == each.weekday for days in readings
        )
    if each.yearly:
        return any(_same_in_year(days, other) for days in each.days for other in readings)
    return any(days[0] <= other[0] and other[1] <= days[1] for days in each.days for other in readings)


def _same_in_year(days: Days, other: Days) -> bool:
    """Tell whether stretches are of one part of the year, the second no longer than the first."""
    first, begins = date.fromordinal(days[0]), date.fromordinal(other[0])
    length = days[1] - days[0]
    if other[1] - other[0] > length + 1:
        return False
    offset = begins.timetuple().tm_yday - first.timetuple().tm_yday
    return first.month == begins.month and (first.day == begins.day or 0 <= offset < length)
