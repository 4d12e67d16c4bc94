"""Finds the expressions of time in a text with every day that each may mean, and tells whether a day is told."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date

from app.language.dates import counted, time_words
from app.language.dates.days import is_either, lowered
from app.language.dates.time_readings import Days, read, yearly
from app.language.dates.time_spans import Span, spans

_RELATIVE = frozenset(("which", "ago", "rolling", "fixed", "unspaced"))
_YEAR = 365
_WEEK = 7


@dataclass(frozen=True, slots=True)
class Told:
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


def told(text: str, today: int | None) -> list[Told]:
    """Return what a text tells of time when it is said on the day ``today`` (an ordinal); None: on no known day."""
    found = [_counted(each, today) for each in counted.counted(lowered(text))]
    for span in spans(text):
        if all(span.ends <= other.starts or other.ends <= span.starts for other in found):
            found.append(_spanned(span, today))
    return sorted(found, key=lambda each: each.starts)


def _counted(each: counted.Counted, today: int | None) -> Told:
    meant: set[Days | None] = set()
    if today is not None:
        meant.add(counted.days(each, today))
        if (exact := counted.exact_day(each, today)) is not None:
            meant.add((exact, exact + 1))
    weekday = time_words.WEEKDAYS.get(each.text.split()[-1])
    return Told(each.starts, each.ends, each.text, _known(meant), fixed=False, weekday=weekday)


def _spanned(span: Span, today: int | None) -> Told:
    if span.kind == "weekday":
        weekday = time_words.WEEKDAYS[span.text]
        days = _weekdays(span.text, today)
        return Told(span.starts, span.ends, span.text, days, fixed=False, weekday=weekday)
    if span.kind in _RELATIVE or span.shift or span.part:
        return Told(span.starts, span.ends, span.text, _known(_relative(span, today)), fixed=False)
    if yearly(span.kind, span.text):
        around = () if today is None else (today, min(today + _YEAR, date.max.toordinal()))
        days = _known(read(span.kind, span.text, "", "", day) for day in around or (date(2000, 12, 31).toordinal(),))
        return Told(span.starts, span.ends, span.text.rstrip("."), days, fixed=False, yearly=True)
    readings = {read(span.kind, span.text, "", "", 1)}
    if is_either(span):
        readings.add(read(span.kind, _swapped(span.text), "", "", 1))
    return Told(span.starts, span.ends, span.text.rstrip("."), _known(readings), fixed=True)


def _swapped(text: str) -> str:
    mark = "/" if "/" in text else "-"
    first, second, year = text.split(mark)[:3]
    return mark.join((second, first, year))


def _known(readings: Collection[Days | None] | Iterator[Days | None]) -> frozenset[Days]:
    return frozenset(days for days in readings if days is not None)


def _weekdays(name: str, today: int | None) -> frozenset[Days]:
    if today is None:
        return frozenset()
    ahead = (time_words.WEEKDAYS[name] - date.fromordinal(today).weekday()) % _WEEK
    return frozenset((day, day + 1) for day in (today + ahead - _WEEK, today + ahead) if 0 < day < date.max.toordinal())


def _relative(span: Span, today: int | None) -> Iterator[Days | None]:
    """Give what "last week", "two weeks ago" or "next Friday" may mean."""
    if today is None:
        return
    yield read(span.kind, span.text, span.shift, span.part, today)
    said = span.text.split()
    if span.kind == "ago" and not span.shift and said[-1] == "ago" and len(said) > 2:  # noqa: PLR2004
        number, unit = said[-3], said[-2].removesuffix("s")
        if unit in time_words.FORMS_OF_UNITS and (number in time_words.COUNTS or number.isdecimal()):
            found = counted.Counted("back", f"vor {number} {unit}", 0, 0)
            exact = counted.exact_day(found, today)
            yield None if exact is None else (exact, exact + 1)
    if span.kind == "which" and said[-1] in time_words.WEEKDAYS and time_words.WHICH[said[0]] > 0:
        days = read(span.kind, span.text, "", "", today)
        yield None if days is None or days[1] + _WEEK > date.max.toordinal() else (days[0] + _WEEK, days[1] + _WEEK)


def supported(each: Told, said: Collection[Told], readings: Collection[Days]) -> bool:
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
