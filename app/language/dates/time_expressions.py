"""Finds the expressions of time in a text with all days that each may mean, and tells whether a text supports a day."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import chain
from typing import Literal

from app.language.dates import time_words
from app.language.dates.days import resolved, swapped
from app.language.dates.interval import Interval
from app.language.dates.time_spans import Span, expressions, in_small_letters

_YEAR = 365
_YEAR_END = date(2000, 12, 31).toordinal()
"""A day, the last of a leap year, on which each date without its year has been in that year."""
_WEEK = 7


Recurrence = Literal["none", "week", "year", "relative"]
"""Whether a time is the same on whatever day it is said, comes every week or year, or is counted from that day."""


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """The expression of time at text[starts:ends]. ``days``: each stretch of days that the expression may mean.

    ``weekday``: the day of the week that the expression names, from 0.
    """

    starts: int
    ends: int
    text: str
    days: frozenset[Interval]
    recurrence: Recurrence
    weekday: int | None = None

    @property
    def fixed(self) -> bool:
        """Whether the expression names its year, so that it means the same on whatever day it is said."""
        return self.recurrence == "none"


def time_expressions(text: str, today: int | None) -> list[TimeExpression]:
    """Return the expressions of time of a text said on the day ``today`` (an ordinal); None: on no known day."""
    lowered = in_small_letters(text)
    return [_time_expression(span, lowered[span.starts : span.ends], today) for span in expressions(text)]


def last_day(text: str, reference: datetime) -> date | None:
    """Return the last day that a task's expressions of time may mean, counted from the day of ``reference``.

    None where the text has no such expression, or one of which no days are read.
    """
    today = reference.date().toordinal()
    # A task of "2 January", told in February, is one of the next year.
    sure = {mention.place: mention.days for mention in resolved(text, reference) if mention.days.after > today}
    found = time_expressions(text, today)
    days = [{sure[one.starts]} if one.starts in sure else one.days for one in found]
    return date.fromordinal(max(one.after for one in chain(*days)) - 1) if days and all(days) else None


def _time_expression(span: Span, written: str, today: int | None) -> TimeExpression:
    text = (written if span.sure else span.text).rstrip(".")
    recurrence = _recurrence(span)
    weekday = time_words.WEEKDAYS.get(text.split()[-1]) if span.sure or recurrence == "week" else None
    readings = frozenset(filter(None, _readings(span, recurrence, today)))
    return TimeExpression(span.starts, span.ends, text, readings, recurrence, weekday)


def _recurrence(span: Span) -> Recurrence:
    if span.kind == "weekday":
        return "week"
    if span.is_relative or span.shift or span.part:
        return "relative"
    return "year" if span.is_yearly else "none"


def _readings(span: Span, recurrence: Recurrence, today: int | None) -> Iterator[Interval | None]:
    """Yield the days that an expression may mean when it is said on the day ``today``."""
    match recurrence:
        case "week":
            yield from _weekdays(time_words.WEEKDAYS[span.text], today)
        case "relative":
            yield from _relative(span, today)
        case "year":
            around = (_YEAR_END,) if today is None else (today, min(today + _YEAR, date.max.toordinal()))
            yield from map(span.days, around)
        case "none":
            yield from (replace(span, text=text).days(1) for text in (span.text, swapped(span) or span.text))


def _weekdays(weekday: int, today: int | None) -> Iterator[Interval]:
    """Yield the last day of a weekday's name before today, and the next, which may be today."""
    if today is not None:
        ahead = (weekday - date.fromordinal(today).weekday()) % _WEEK
        days = (today + ahead - _WEEK, today + ahead)
        yield from (Interval.of_day(day) for day in days if 0 < day < date.max.toordinal())


def _relative(span: Span, today: int | None) -> Iterator[Interval | None]:
    """Yield the days that "last week", "two weeks ago" or "next Friday" may mean."""
    if today is None:
        return
    yield span.days(today)
    if span.kind == "ago" and not span.shift and (span.sure or span.text.endswith("ago")):
        yield replace(span, kind="exact", part="").days(today)
    which, thing = (*span.text.split(), "")[:2]
    if span.kind == "which" and not span.sure and thing in time_words.WEEKDAYS and which in time_words.AHEAD:
        days = replace(span, shift="", part="").days(today)
        if days is not None and days.after + _WEEK <= date.max.toordinal():
            yield Interval(days.first + _WEEK, days.after + _WEEK)


def is_supported(
    expected: TimeExpression, mentions: Collection[TimeExpression], readings: Collection[Interval]
) -> bool:
    """Tell whether a time is told by ``mentions`` or by ``readings``, the stretches of time that the sources mean.

    A stretch of time that includes one of the readings is told too ("in March" by "on 12 March"), a part of one is not.
    """
    if not expected.fixed and any(mention.text == expected.text for mention in mentions):
        return True
    if expected.weekday is not None:
        days_of_week = {reading.date.weekday() for reading in readings if reading.is_day}
        return expected.weekday in days_of_week.union(mention.weekday for mention in mentions)
    includes = _same_in_year if expected.recurrence == "year" else Interval.includes
    return any(includes(days, reading) for days in expected.days for reading in readings)


def _same_in_year(days: Interval, other: Interval) -> bool:
    """Tell whether stretches are of one part of the year, the second no longer than the first."""
    length = days.after - days.first
    if other.after - other.first > length + 1:
        return False
    offset = other.date.timetuple().tm_yday - days.date.timetuple().tm_yday
    return days.date.month == other.date.month and (days.date.day == other.date.day or 0 <= offset < length)
