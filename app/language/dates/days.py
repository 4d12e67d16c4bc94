"""Tells which days the expressions of time in a text mean, counted from a day; none where it is not sure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from app.language.dates import counted, time_words
from app.language.dates.time_readings import Days, read, yearly
from app.language.dates.time_spans import Span, spans

MAX_TEXT = 32 * 1024
"""No more characters of a text are read."""
_RELATIVE = frozenset(("which", "ago", "rolling", "fixed", "unspaced"))
"""The kinds of expressions that are counted from a day. A bare "Friday" is none: it may be the last or the next."""
_VAGUE = frozenset(name for name, (least, most) in time_words.NUMBERS.items() if least != most)
_TOLD = re.compile(r"(?:^|\W)(?:the|der|die|das|dem|den)\s{1,2}$", re.IGNORECASE)
_DIVIDES = re.compile("[/-]")
_QUOTES = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]')
_NEAR = 100
"""A date without its year is of the year that brings it so near, in days, to when it was said."""
_MAX_MONTH = 12
_NO_LETTERS_LOST = {0x130: "i"}


@dataclass(frozen=True, slots=True)
class Resolved:
    """An expression of time that begins at ``place`` in a text, and the first and the last day that it means."""

    expression: str
    start: date
    end: date
    place: int


def resolved(text: str, reference: datetime) -> list[Resolved]:
    """Return the expressions of time in a text whose days are sure, counted from the day of ``reference``.

    English, Swedish, German. Left alone: what stands behind a quotation mark, "a few weeks ago", "next Friday", a bare
    "Friday", a numeric date that can be read both ways. A count of weeks, months or years means that unit: "two weeks
    ago" is the week from Monday to Sunday.
    """
    text = text[:MAX_TEXT]
    quoted = _QUOTES.search(text)
    said = text[: quoted.start()] if quoted else text
    found = sorted(_found(said, reference.date().toordinal()), key=lambda each: each[0])
    return [_resolved(text, place, ends, days) for place, ends, days in found]


def single_days(text: str, today: int) -> set[int | None]:
    """Return the days (ordinals) that a text names; None among them stands for times that are not one day for sure."""
    sure = resolved(text, datetime.fromordinal(today))
    days = {each.start.toordinal() if each.start == each.end else None for each in sure}
    for span in spans(text):
        known = any(each.place <= span.starts < each.place + len(each.expression) for each in sure)
        if not known or span.lead_is_open or span.lead == "in" or span.follows:
            days.add(None)
    return days


def _resolved(text: str, place: int, ends: int, days: Days) -> Resolved:
    first, last = date.fromordinal(days[0]), date.fromordinal(days[1] - 1)
    return Resolved(text[place:ends].rstrip("."), first, last, place)


def _found(text: str, today: int) -> Iterator[tuple[int, int, Days]]:
    taken: list[tuple[int, int]] = []
    for each in counted.counted(lowered(text)):
        taken.append((each.starts, each.ends))
        if days := counted.days(each, today):
            yield each.starts, each.ends, days
    for span in spans(text):
        if any(starts < span.ends and span.starts < ends for starts, ends in taken):
            continue
        if days := sure_days(span, text, today) or dated(span, today):
            yield span.starts, span.ends, days


def lowered(text: str) -> str:
    """Return a text in small letters, each in its place."""
    return text.translate(_NO_LETTERS_LOST).lower()


def sure_days(span: Span, text: str, today: int) -> Days | None:
    """Return the days (ordinals, the second is the day after) that a relative expression means; None where not sure.

    ``today`` is the ordinal of the day from which it is counted.
    """
    if span.kind not in _RELATIVE or span.ends_range or span.part:
        return None
    said = span.text.split()
    if span.kind == "which" and not _is_sure(said, text[: span.starts]):
        return None
    if _VAGUE.intersection((" ".join(said[:-2]), " ".join(said[1:-1]))):
        return None
    return read(span.kind, span.text, span.shift, span.part, today)


def dated(span: Span, today: int) -> Days | None:
    """Return the days that a date of the calendar means; one without its year is sure near the day ``today`` only."""
    if span.kind in _RELATIVE or span.kind == "weekday" or span.shift or span.part or is_either(span):
        return None
    return nearest(span, today) if yearly(span.kind, span.text) else read(span.kind, span.text, "", "", today)


def is_either(span: Span) -> bool:
    """Tell whether a date in digits may be read with its month or with its day first."""
    if span.kind != "numeric" or "." in span.text:
        return False
    first, second = (int(part) for part in _DIVIDES.split(span.text)[:2])
    return first != second and first <= _MAX_MONTH and second <= _MAX_MONTH


def nearest(span: Span, today: int) -> Days | None:
    """Return the day of a date without its year, where that of one year is far nearer than those of the others."""
    days = {read(span.kind, span.text, "", "", min(today + ahead, date.max.toordinal())) for ahead in (0, _NEAR)}
    near = {day for day in days if day and day[1] - day[0] == 1 and abs(day[0] - today) <= _NEAR}
    return near.pop() if len(near) == 1 else None


def _is_sure(said: list[str], before: str) -> bool:
    """Tell whether "last week" and the like mean one time: "last March", "next weekend", "the next week" may not."""
    shift = time_words.WHICH[said[0]]
    if said[1] in time_words.WEEKDAYS:
        return shift < 0
    if time_words.UNITS.get(said[1]) == "weekend" and shift > 0:
        return False
    return said[1] in time_words.UNITS and not (shift and _TOLD.search(before))
