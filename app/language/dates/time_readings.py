"""Reads one expression of time as days: dateutil reads the dates, its relativedelta counts the calendar's units."""

import re
from datetime import date, datetime
from functools import lru_cache

from dateutil.parser import parser
from dateutil.relativedelta import relativedelta, weekday

from app.language.dates import time_words
from app.language.dates.interval import Interval

RELATIVE = frozenset(("which", "before_last", "ago", "exact", "rolling", "now", "fixed", "unspaced"))
"""The kinds of expressions that are counted from a day. A bare "Friday" is not: it may be the last or the next."""

_STEP = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "weekend": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "quarter": relativedelta(months=3),
    "year": relativedelta(years=1),
    "decade": relativedelta(years=10),
}
_LEAP_YEAR = datetime(2000, 1, 1)  # noqa: DTZ001  # only its days are used
_LEAP_YEARS_APART = 8
_WEEK = 7
_SATURDAY = 5
_YEARLY = frozenset({"day", "days", "month", "quarter", "season"})
_DATES = parser(time_words.DateWords(dayfirst=True))
_TWO_DAYS = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|\.)?\s?(?:[-\u2013]|to|and)\s?(\d{1,2})", re.IGNORECASE)
_WHICH_YEAR = re.compile(r"(last|this|next)\s{1,2}year$")
_BEHIND_NAME = re.compile(r"[\s,/-]")
_YEAR = re.compile(r"\d{4}")
_NUMBER = re.compile(r"\d+")


@lru_cache(maxsize=1024)
def read(kind: str, text: str, shift: str, part: str, today: int) -> Interval | None:
    """Return the days that an expression in small letters means on the day ``today``, or None where it means none."""
    try:
        days = _days(kind, text, date.fromordinal(today))
        if shift:
            days = _shifted(days, shift.split())
        days = _part(days, part.replace("-", " ").split()) if part else days
    except (ValueError, OverflowError, KeyError):  # no such date; past the calendar
        return None
    return days if days.first <= date.max.toordinal() else None  # the calendar's last week has no weekend


def yearly(kind: str, text: str) -> bool:
    """Tell whether an expression comes every year and names no year."""
    if kind == "cjk":
        return _YEAR.match(text) is None
    return kind in _YEARLY and _YEAR.search(text) is None and _WHICH_YEAR.search(text) is None


def _days(kind: str, text: str, day: date) -> Interval:
    if kind in _YEARLY:
        text = _WHICH_YEAR.sub(lambda found: f"{day.year + time_words.WHICH[found[1]]:04}", text)
    match kind:
        case "iso" | "cjk":
            days = _numbered(text, day)
        case "numeric" | "day":
            days = _unit(_dated(text, day), "day")
        case "month":
            days = _unit(_dated(text, day), "month")
        case "days":
            first = _dated(_TWO_DAYS.sub(r"\1", text), day)
            last = _dated(_TWO_DAYS.sub(r"\2", text), first + _STEP["month"])
            days = _from_to(last.replace(day=first.day), last)
        case "year" | "years":
            days = _from_to(date(int(text[:4]), 1, 1), date(int(text[-4:]), 1, 1), "year")
        case "decade":
            digits = text[:-1] if len(text) > len("90s") else f"{20 if text < '3' else 19}{text[:2]}"
            days = _unit(date(int(digits), 1, 1), "decade")
        case "quarter" | "season":
            days = _recurring(text, None, day)
        case "weekday":
            days = _unit(day + relativedelta(weekday=weekday(time_words.WEEKDAYS[text], -1)), "day")
        case _:
            days = _relative(kind, text.split(), day)
    return days


def _unit(day: date, unit: str, shift: int = 0) -> Interval:
    """Return the unit that has a day, or the unit that is ``shift`` units after it."""
    day += _STEP[unit] * shift
    match unit:
        case "week" | "weekend":
            monday = day.toordinal() - day.weekday()
            return Interval(monday + (_SATURDAY if unit == "weekend" else 0), monday + _WEEK)
        case "month":
            day = day.replace(day=1)
        case "quarter":
            day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year" | "decade":
            day = day.replace(year=day.year - (day.year % 10 if unit == "decade" else 0), month=1, day=1)
    try:
        return Interval(day.toordinal(), (day + _STEP[unit]).toordinal())
    except (ValueError, OverflowError):  # the calendar ends with this unit
        return Interval(day.toordinal(), date.max.toordinal() + 1)


def _from_to(first: date, last: date, unit: str = "day") -> Interval:
    start, end = _unit(first, unit).first, _unit(last, unit).after
    if start >= end:
        raise ValueError("ends before it starts")
    return Interval(start, end)


def _dated(text: str, day: date) -> date:
    """Return the date that dateutil reads; without a year, the most recent date that is not after ``day``."""
    found = _DATES.parse(text, default=_LEAP_YEAR, ignoretz=True).date()
    return found if _YEAR.search(text) else _latest(found.month, found.day, day)


def _latest(month: int, day_of_month: int, day: date) -> date:
    year = day.year if (month, day_of_month) <= (day.month, day.day) else day.year - 1
    for earlier in range(_LEAP_YEARS_APART):
        try:
            return date(year - earlier, month, day_of_month)
        except ValueError:  # 29 February: there is one in some earlier year, or never
            continue
    raise ValueError("no such day")


def _numbered(text: str, day: date) -> Interval:
    """Read a date whose numbers stand in the order year, month, day, so that none can be taken for another."""
    numbers = [int(number) for number in _NUMBER.findall(text)[:3]]
    if not _YEAR.match(text):
        found = _latest(numbers[0], numbers[1] if len(numbers) > 1 else 1, day)
        return _unit(found, "month" if len(numbers) == 1 else "day")
    year, month, day_of_month = (*numbers, 1, 1)[:3]
    return _unit(date(year, month, day_of_month), ("year", "month", "day")[len(numbers) - 1])


def _recurring(text: str, which: int | None, day: date) -> Interval:
    """Read a period of every year; ``which``: the last that is over (-1), this (0), the next (1), the latest (None)."""
    if year := _YEAR.search(text):
        return _in_year(text.replace(year[0], ""), int(year[0]))
    around = [_in_year(text, day.year + shift) for shift in (-2, -1, 0, 1)]
    today = day.toordinal()
    begun = [days for days in around if days.first <= today]
    latest, is_over = begun[-1], begun[-1].after <= today
    match which:
        case -1:
            return latest if is_over else begun[-2]
        case 0:
            return around[2] if is_over else latest
        case 1:
            return around[len(begun)]
    return latest


def _in_year(text: str, year: int) -> Interval:
    name, *_ = _BEHIND_NAME.split(text.strip(" -/"))
    if name in time_words.MONTHS:
        return _unit(date(year, time_words.MONTHS[name], 1), "month")
    if name in time_words.SEASONS:
        first = date(year, time_words.SEASONS[name], 1)
        return Interval(first.toordinal(), (first + _STEP["quarter"]).toordinal())
    quarter = 4 if name == "last" else time_words.ORDINALS.get(name) or int(name.removeprefix("q"))
    return _unit(date(year, 3 * quarter, 1), "quarter")


def _relative(kind: str, words: list[str], day: date) -> Interval:
    match kind:
        case "which":
            return _which(time_words.WHICH[words[0]], words[1], day)
        case "before_last":
            return _before_last(words[0], day)
        case "ago":
            return _ago(words, day)
        case "exact":
            return _exact(words, day)
        case "rolling":
            _, most, unit = _count(words[1:])
            far = day + _STEP[unit] * (most if words[0] in time_words.AHEAD else -most)
            return _from_to(min(far, day), max(far, day))
        case "unspaced":
            unit, shift = time_words.UNSPACED[words[0]]
        case _:
            unit, shift = ("day", 0) if kind == "now" else time_words.FIXED[" ".join(words)]
    return _unit(day, unit, shift)


def _which(which: int, thing: str, day: date) -> Interval:
    if thing in time_words.UNITS:
        return _unit(day, time_words.UNITS[thing], which)
    if thing not in time_words.WEEKDAYS:
        return _recurring(thing, which, day)
    if which:
        return _unit(day + relativedelta(days=which, weekday=weekday(time_words.WEEKDAYS[thing], which)), "day")
    return Interval.of_day(_unit(day, "week").first + time_words.WEEKDAYS[thing])


def _count(words: list[str]) -> tuple[int, int, str]:
    """Return the least and the greatest count that the words mean, and the unit."""
    number = " ".join(words[:-1])
    least, most = time_words.NUMBERS.get(number) or (int(number), int(number))
    return least, most, _unit_of(words[-1])


def _unit_of(word: str) -> str:
    return time_words.UNITS.get(word) or time_words.UNITS[word.removesuffix("s")]


def _before_last(thing: str, day: date) -> Interval:
    if thing in time_words.UNITS:
        return _unit(day, time_words.UNITS[thing], -2)
    return _unit(date.fromordinal(_which(-1, thing, day).first), "day", -_WEEK)


def _ago(words: list[str], day: date) -> Interval:
    if words[-1] in time_words.FIXED:  # "a week ago yesterday"
        _, shift = time_words.FIXED[words[-1]]
        return _exact(words[:-1], day + _STEP["day"] * shift)
    if words[-1] == "now":  # "two weeks from now"
        return _counted(words[:-2], 1, day)
    return _counted(words[:-1], -1, day)


def _counted(words: list[str], side: int, day: date) -> Interval:
    """Return the units that lie the words' count of units before a day (``side`` -1) or after it (1)."""
    least, most, unit = _count(words)
    ends = [_unit(day, unit, side * count) for count in (least, most)]
    return Interval(min(ends).first, max(ends).after)


def _exact(words: list[str], day: date) -> Interval:
    """Read a count of units as one exact day: "2 weeks ago", "2 weeks from tomorrow"."""
    least, most, unit = _count(words[: words.index("from") if "from" in words else -1])
    if least != most or unit not in time_words.FORMS_OF_UNITS:
        raise ValueError("not so to the day")
    day += _STEP["day"] * (words[-1] == "tomorrow") + _STEP[unit] * (-least if words[-1] == "ago" else least)
    return _unit(day, "day")


def _shifted(days: Interval, words: list[str]) -> Interval:
    """Read "the week before", "two days after", "the Sunday of" some days."""
    words = [word for word in words if word != "the"]
    *count, name, direction = words
    if direction == "of":
        return days if count else _of(days, name)
    side = {"before": -1, "after": 1}[direction]
    edge = date.fromordinal(days.after - 1 if side > 0 else days.first)
    if count:
        return _counted([*count, name], side, edge)
    if name in time_words.WEEKDAYS:
        return _which(side, name, edge)
    unit = _unit_of(name)
    start, end = _unit(edge, unit, side)
    if unit == "week":  # the calendar's week, or the days next to it: both are included
        return Interval(start, days.first) if side < 0 else Interval(days.after, end)
    if unit == "weekend":
        saturday = edge + relativedelta(days=-2 if side < 0 else 1, weekday=weekday(_SATURDAY, side))
        return Interval(saturday.toordinal(), saturday.toordinal() + 2)
    return Interval(start, end)


def _of(days: Interval, name: str) -> Interval:
    """Read "the week of", "the Sunday of" some days; these days as a whole where they have several such units."""
    first = date.fromordinal(days.first)
    length = days.after - days.first
    if name in time_words.WEEKDAYS:
        return _which(0, name, first) if length <= _WEEK else days
    unit = _unit_of(name)
    whole = _unit(first, unit)
    return whole if length <= (_WEEK if unit == "weekend" else whole.after - whole.first) else days


def _part(days: Interval, words: list[str]) -> Interval:
    """Read "early", "the end of", "the second week of" some days."""
    start, end = days
    third, half = (end - start) // 3, (start + end) // 2
    match [word for word in words if word not in {"in", "of", "the"}]:
        case ["early" | "beginning" | "start", *_]:
            part = start, start + max(third, 1)
        case ["mid" | "middle", *_]:
            part = start + third, end - third
        case ["late" | "end", *_]:
            part = end - max(third, 1), end
        case [which, "half"]:
            part = (start, half) if which == "first" else (half, end)
        case [which, *count, name]:
            part = _numbered_part(days, which, count, name)
    if part[0] >= part[1]:
        raise ValueError("no such part")
    return Interval(*part)


def _numbered_part(days: Interval, which: str, count: list[str], name: str) -> tuple[int, int]:
    """Read "the second week", "the last three days", "the first Friday" of some days; a week is seven of them."""
    is_last, place = which == "last", time_words.ORDINALS.get(which, 1)
    day_of_week = time_words.WEEKDAYS.get(name, _SATURDAY)
    if name in time_words.WEEKDAYS or _unit_of(name) == "weekend":
        near = date.fromordinal(days.after - 1 if is_last else days.first)
        first = (near + relativedelta(weekday=weekday(day_of_week, -1 if is_last else place))).toordinal()
        return first, min(first + 1 + (name not in time_words.WEEKDAYS), days.after)
    if not count and name not in time_words.UNITS:
        count = ["few"]
    _, most, unit = _count([*count, name])
    step = _STEP[unit] * most
    if is_last:
        return max((date.fromordinal(days.after) - step).toordinal(), days.first), days.after
    first_day = date.fromordinal(days.first) + step * (place - 1)
    return first_day.toordinal(), min((first_day + step).toordinal(), days.after)
