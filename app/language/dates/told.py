"""Finds the expressions of time in a text with every day that each may mean, and tells whether a day is told."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from app.language.dates import time_words
from app.language.dates.days import swapped
from app.language.dates.time_readings import RELATIVE, Days, read, yearly
from app.language.dates.time_spans import Span, expressions, in_small_letters

_YEAR = 365
_YEAR_END = date(2000, 12, 31).toordinal()
"""A day on which each date without its year has been that year."""
_WEEK = 7


Recurrence = Literal["none", "week", "year", "relative"]
"""Whether a time is the same whenever it is said, comes every week or every year, or is counted from that day."""


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """text[starts:ends] tells a time. ``days``: each stretch that it may mean (ordinals, the second is the day after).

    ``weekday``: the day of the week that it names, from 0.
    """

    starts: int
    ends: int
    text: str
    days: frozenset[Days]
    recurrence: Recurrence
    weekday: int | None = None

    @property
    def fixed(self) -> bool:
        """Whether it names its year, so that it means the same whenever it is said."""
        return self.recurrence == "none"


def told(text: str, today: int | None) -> list[TimeExpression]:
    """Return what a text tells of time when it is said on the day ``today`` (an ordinal); None: on no known day."""
    lowered = in_small_letters(text)
    return [_told(span, lowered[span.starts : span.ends], today) for span in expressions(text)]


def _told(span: Span, said: str, today: int | None) -> TimeExpression:
    text = (said if span.sure else span.text).rstrip(".")
    recurrence = _recurrence(span)
    weekday = time_words.WEEKDAYS.get(text.split()[-1]) if span.sure or recurrence == "week" else None
    readings = frozenset(filter(None, _readings(span, recurrence, today)))
    return TimeExpression(span.starts, span.ends, text, readings, recurrence, weekday)


def _recurrence(span: Span) -> Recurrence:
    if span.kind == "weekday":
        return "week"
    if span.kind in RELATIVE or span.shift or span.part:
        return "relative"
    return "year" if yearly(span.kind, span.text) else "none"


def _readings(span: Span, recurrence: Recurrence, today: int | None) -> Iterator[Days | None]:
    """Give the days that an expression may mean when it is said on a day."""
    match recurrence:
        case "week":
            yield from _weekdays(time_words.WEEKDAYS[span.text], today)
        case "relative":
            yield from _relative(span, today)
        case "year":
            around = (_YEAR_END,) if today is None else (today, min(today + _YEAR, date.max.toordinal()))
            yield from (read(span.kind, span.text, "", "", day) for day in around)
        case "none":
            yield from (read(span.kind, text, "", "", 1) for text in (span.text, swapped(span) or span.text))


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


def supported(expected: TimeExpression, mentions: Collection[TimeExpression], readings: Collection[Days]) -> bool:
    """Tell whether a time is told by ``mentions`` or by ``readings``, the stretches of time that the sources mean.

    A stretch that holds one of those is told too ("in March" of "on 12 March"), a part of it is not.
    """
    if not expected.fixed and any(mention.text == expected.text for mention in mentions):
        return True
    if expected.weekday is not None:
        named = {mention.weekday for mention in mentions} | {_weekday(days) for days in readings}
        return expected.weekday in named
    includes = _same_in_year if expected.recurrence == "year" else _includes
    return any(includes(days, reading) for days in expected.days for reading in readings)


def _weekday(days: Days) -> int | None:
    """Return which day of the week a stretch is; None where it is longer than a day."""
    return date.fromordinal(days[0]).weekday() if days[1] - days[0] == 1 else None


def _includes(days: Days, part: Days) -> bool:
    return days[0] <= part[0] and part[1] <= days[1]


def _same_in_year(days: Days, other: Days) -> bool:
    """Tell whether stretches are of one part of the year, the second no longer than the first."""
    first, begins = date.fromordinal(days[0]), date.fromordinal(other[0])
    length = days[1] - days[0]
    if other[1] - other[0] > length + 1:
        return False
    offset = begins.timetuple().tm_yday - first.timetuple().tm_yday
    return first.month == begins.month and (first.day == begins.day or 0 <= offset < length)
