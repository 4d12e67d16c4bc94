"""The periods of time that a query names.

Dates are read by dateutil. Days begin at midnight UTC and weeks on Monday; where a numeric date could be read both
ways, its day comes first (5/6/2023 is the 5th of June); seasons are those of the northern hemisphere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from dateutil.relativedelta import relativedelta

from app.language.dates.interval import Interval
from app.language.dates.time_spans import Span, spans
from app.retrieval.query.terms import clipped

_DAY = 86_400_000
_EPOCH = 719_163
_NEVER = 3_652_060
EARLIEST = (1 - _EPOCH) * _DAY
"""The start of a period open to the past: 1 January of the year 1, ms since the epoch."""
LATEST = (_NEVER - _EPOCH) * _DAY - 1
"""The end of a period open to the future: the last millisecond of the year 9999, ms since the epoch."""
MAX_PERIODS = 4
_WEEK = 7
_WEEK_KINDS = ("which", "ago", "before_last")
_YEARS = (365, 366)
"""Days of a year."""
_WITHIN_YEAR = ("in", "near", "en")
"""The roles of the words that put a part behind its year: "last year in March", "förra året i mars"."""
_APART = len(", ")
_APART_IN_LIST = len(" and ")
_WITHIN = 100
"""Days from a day to the one that ends the same stretch of days, at most, where neither names its year."""
_EARLIER_YEARS = 9
"""Years before the latest in which a period without a year may lie."""


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, half-open [``start``, ``end``), ms since the epoch UTC, and the words it was read from."""

    start: int
    end: int
    text: str
    earlier: tuple[tuple[int, int], ...] = ()
    """The same period in the years before, latest first, where the query names no year: the query means the latest
    that has memories."""

    @property
    def readings(self) -> tuple[tuple[int, int], ...]:
        """The stretches of time that the query may mean, the likeliest first: its own, then those of earlier years."""
        return ((self.start, self.end), *self.earlier)


def periods(query: str, reference_time: int) -> tuple[Period, ...]:
    """Return the first periods the query names, at most ``MAX_PERIODS``, in their order.

    ``reference_time`` (ms since the epoch) is the moment from which "last week" and a month without a year are read. A
    date that does not exist names no period, and a time outside the calendar's years 1 to 9999 is no reference.
    """
    today = reference_time // _DAY + _EPOCH
    query = clipped(query)
    chain = _in_context(list(spans(query)), today)
    found: list[Period] = []
    while chain and len(found) < MAX_PERIODS:
        (first, seen_from), *chain = chain
        last = chain[0][0] if chain and chain[0][0].ends_range else first
        if last is not first and _days(first, last, seen_from) is None:
            last = first
        elif last is not first:
            chain = chain[1:]
        if (latest := _read(first, last, seen_from)) is not None:
            earlier = _in_earlier_years(first, last, today, latest) if seen_from == today else ()
            found.append(Period(*latest, query[first.starts : last.ends], tuple(earlier)))
    return tuple(found)


def _in_context(named: Sequence[Span], today: int) -> list[tuple[Span, int]]:
    """Return the expressions, each with the day that it is seen from; one that only says of which year is no other."""
    found: list[tuple[Span, int]] = []
    for span in reversed(named):
        behind, seen_from = found[-1] if found else (span, today)
        if found and (year := _year_of(span, behind, today)) is not None:
            found[-1] = replace(behind, starts=span.starts), year.after - 1
        elif found and (day := _day_of_week(span, behind, today)) is not None:
            found[-1] = day, today
        elif found and (day := _day_of_same_week(span, behind)) is not None:
            found.append((day, today))
        elif found and (year := _shared_year(span, behind, seen_from, today)) is not None:
            found.append((span, year.first))
        else:
            found.append((span, today))
    return found[::-1]


def _year_of(year: Span, part: Span, today: int) -> Interval | None:
    """Return the year in which a part without a year lies that is told right behind it: "last year in March"."""
    is_named = year.kind in {"which", "year"} and not (year.lead_is_open or year.shift or year.part)
    if not (is_named and part.is_yearly and part.lead in _WITHIN_YEAR and part.begins - year.ends <= _APART):
        return None
    days = year.days(today)
    return days if days is not None and days.after - days.first in _YEARS else None


def _day_of_week(day: Span, week: Span, today: int) -> Span | None:
    """Return the day of a week that is told right behind it: "Monday last week"."""
    is_plain = week.kind in _WEEK_KINDS and not (week.lead or week.shift or week.part)
    if day.kind != "weekday" or day.shift or not is_plain or week.begins - day.ends > len(" "):
        return None
    days = week.days(today)
    is_week = days is not None and days.after - days.first == _WEEK
    return replace(day, kind=week.kind, text=week.text, shift=f"{day.text} of ", ends=week.ends) if is_week else None


def _day_of_same_week(day: Span, behind: Span) -> Span | None:
    """Return the day of the week in which the day behind it lies: Monday of "Monday and Tuesday last week"."""
    is_list = not behind.ends_range and behind.begins - day.ends <= _APART_IN_LIST
    if day.kind != "weekday" or behind.kind not in _WEEK_KINDS or not (behind.shift.endswith(" of ") and is_list):
        return None
    return replace(day, kind=behind.kind, text=behind.text, shift=f"{day.text} of ")


def _shared_year(span: Span, behind: Span, seen_from: int, today: int) -> Interval | None:
    """Return the days of the expression behind one without a year that has its year: "January and February 2025"."""
    has_year = not behind.is_yearly or seen_from != today
    is_list = behind.kind == span.kind and not behind.ends_range and behind.begins - span.ends <= _APART_IN_LIST
    return behind.days(seen_from) if span.is_yearly and is_list and has_year else None


def _read(first: Span, last: Span, today: int) -> tuple[int, int] | None:
    days = _days(first, last, today)
    if days is None:
        return None
    start, end = ((day - _EPOCH) * _DAY for day in days)
    return start, min(end, LATEST)


def _days(first: Span, last: Span, today: int) -> Interval | None:
    if last is not first:
        return _between(first, last, today)
    return _open(first, first.days(today))


def _in_earlier_years(first: Span, last: Span, today: int, latest: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Give the same period in the years before, latest first: none for a period that names its year."""
    day = date.fromordinal(today)
    if first.lead_is_open or not last.is_yearly:
        return
    for back in range(1, min(_EARLIER_YEARS, day.year - 1) + 1):
        reading = _read(first, last, (day - relativedelta(years=back)).toordinal())
        if reading is not None and reading != latest:
            latest = reading
            yield reading


def _between(first: Span, last: Span, today: int) -> Interval | None:
    ends = _under_way(first, last, today) or last.days(today)
    if ends is None:
        return None
    # "March to May 2023": a beginning without a year of its own is the latest before the end.
    seen_from = ends.first if first.floats else today
    begins = first.days(seen_from)
    return Interval(begins.first, ends.after) if begins is not None and begins.first < ends.after else None


def _under_way(first: Span, last: Span, today: int) -> Interval | None:
    """Return the last day of "20 November to 5 December", where the first has been and the last is near behind it."""
    begun = first.days(today)
    if begun is None or not (first.is_yearly and last.is_yearly and first.kind == last.kind == "day"):
        return None
    ends = last.days(begun.first + _WITHIN)
    return ends if ends is not None and ends.first >= begun.first else None


def _open(span: Span, days: Interval | None) -> Interval | None:
    if days is None:
        return None
    start, end = days
    match span.lead:
        case "before":
            start, end = 1, start
        case "until":
            start = 1
        case "since":
            end = _NEVER
        case "after":
            start, end = end, _NEVER
    return Interval(start, end) if start < end else None
