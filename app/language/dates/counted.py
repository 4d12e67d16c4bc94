"""Finds expressions counted from a day that a query hardly has: "in two weeks", "för tre dagar sedan", "i fredags".

Each is read as the expression of ``time_readings`` that means the same, so that there is one arithmetic of them.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from dateutil.relativedelta import relativedelta

from app.language.dates import time_words as words
from app.language.dates.time_readings import Days, read

_MAX_CANDIDATES = 40
_STEP = {"day": "days", "week": "weeks", "month": "months", "year": "years"}


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


_GAP = r"\s{1,2}"
_SOME = rf"(?:\d{{1,3}}|{_any(words.COUNTS)}){_GAP}(?:{_any(words.FORMS_OF_UNITS)})"
_FORMS = {
    "from": rf"(?:heute{_GAP}in{_GAP}{_SOME}|morgen{_GAP}in{_GAP}{_SOME}|{_SOME}{_GAP}from{_GAP}(?:today|tomorrow))",
    "ahead": rf"(?:in|om){_GAP}{_SOME}",
    "back": rf"för{_GAP}{_SOME}{_GAP}(?:sedan|sen)|vor{_GAP}{_SOME}",
    "last": rf"i{_GAP}(?:{_any(name for name in words.WEEKDAYS if name.endswith('dags'))})|i{_GAP}fjol",
    "next": rf"på{_GAP}(?:{_any(name for name in words.WEEKDAYS if name.endswith('dag'))})"
    rf"|kommende[nrsm]?{_GAP}(?:{_any(words.WEEKDAYS)}|woche|monat|jahr)",
    "this": rf"den{_GAP}här{_GAP}(?:veckan|månaden)|det{_GAP}här{_GAP}året|i{_GAP}år",
    "fixed": rf"i{_GAP}övermorgon|(?<!heute\s)(?<!jeden\s)(?<!guten\s)(?<!am\s)(?<!gestern\s)morgen",
}
_EXPRESSION = re.compile(rf"(?<!\w)(?:{'|'.join(f'(?P<{form}>{pattern})' for form, pattern in _FORMS.items())})(?!\w)")
_WHETHER = re.compile(r"(?:undrar|undrade|vet|veta|frågar|frågade|osäker\spå|oklart)\s$")
_CLAUSE = re.compile(r"[^.,;:!?\n]*")
_WORD = re.compile(r"\w+")
_FREQUENT = frozenset(("need", "feed", "indeed"))
_HOW_FAR_BACK = 400


@dataclass(frozen=True, slots=True)
class Counted:
    """An expression text[starts:ends], in small letters, of one of the forms above."""

    form: str
    text: str
    starts: int
    ends: int


def counted(lowered: str) -> Iterator[Counted]:
    """Yield the expressions of a text in small letters, in their order; at most 40."""
    for _, match in zip(range(_MAX_CANDIDATES), _EXPRESSION.finditer(lowered), strict=False):
        found = Counted(str(match.lastgroup), match[0], match.start(), match.end())
        if _meant(found, lowered):
            yield found


def days(found: Counted, today: int) -> Days | None:
    """Return the days (ordinals, the second is the day after) that an expression means on the day ``today``."""
    last = found.text.split()[-1]
    match found.form:
        case "from":
            return _exactly(found, today)
        case "ahead" | "back":
            count, unit = _count(found.text)
            plain = f"{count} {unit}s {'from now' if found.form == 'ahead' else 'ago'}"
            return read("ago", plain, "", "", today)
        case "last" | "next" | "this":
            return read("which", f"{found.form} {'år' if last == 'fjol' else last}", "", "", today)
    return read("fixed", "day after tomorrow" if "över" in found.text else "tomorrow", "", "", today)


def exact_day(found: Counted, today: int) -> int | None:
    """Return the day that is so many units away to the day, of "in two weeks"; None for other expressions."""
    if found.form not in {"ahead", "back"}:
        return None
    count, unit = _count(found.text)
    return _moved(today, unit, count if found.form == "ahead" else -count)


def _exactly(found: Counted, today: int) -> Days | None:
    count, unit = _count(found.text)
    said = found.text.split()
    day = _moved(today + (said[-1] == "tomorrow" or said[0] == "morgen"), unit, count)
    return None if day is None else (day, day + 1)


def _moved(day: int, unit: str, count: int) -> int | None:
    try:
        return (date.fromordinal(day) + relativedelta(**{_STEP[unit]: count})).toordinal()  # type: ignore[arg-type]
    except (ValueError, OverflowError):  # past the calendar
        return None


def _count(text: str) -> tuple[int, str]:
    """Return how many of which unit an expression counts."""
    said = text.split()
    place = next(place for place, word in enumerate(said[1:], 1) if word in words.FORMS_OF_UNITS)
    number = said[place - 1]
    return words.COUNTS.get(number) or int(number), words.FORMS_OF_UNITS[said[place]]


def _meant(found: Counted, lowered: str) -> bool:
    """Tell whether the words are a time here: "in two weeks" may be how long it took, "om två veckor" a doubt."""
    if found.form != "ahead":
        return True
    begins = max(lowered.rfind(mark, max(found.starts - _HOW_FAR_BACK, 0), found.starts) for mark in ".,;:!?\n") + 1
    before = lowered[max(begins, found.starts - _HOW_FAR_BACK) : found.starts]
    if found.text.startswith("om"):
        return _WHETHER.search(before) is None
    rest = _CLAUSE.match(lowered, found.ends, found.ends + _HOW_FAR_BACK)
    said = set(_WORD.findall(before + (rest[0] if rest else "")))
    return said.isdisjoint(words.PAST) and not any(word.endswith("ed") for word in said - _FREQUENT)
