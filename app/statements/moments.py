"""Reads days and times, in digits and in words, each in one form."""

import re

from app.language.tokens import Tokens
from app.statements.packs import Pack

_CLOCK = re.compile(r"(\d{1,2})(?:[:.h](\d{2}))?(am|pm|h|uhr)?")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th|e|:e|:a)?\.?")
_DATE = re.compile(r"(?:(\d{4})-)?(\d{1,2})[-./](\d{1,2})(?:[-./]\d{2,4})?\.?")
_SHIFTS = {"half_past": 30, "half_before": -30, "quarter_past": 15, "quarter_before": -15}
"""The minutes that a phrase of a pack adds to the hour after it."""
_MAX_WORDS = 10
_HOURS = 24


def moment(words: Tokens, pack: Pack) -> tuple[str, str]:
    """Return the day and the time that words begin with, each "" where there is none."""
    return moment_at(words, "", pack)[:2]


def moment_at(words: Tokens, before_all: str, pack: Pack) -> tuple[str, str, int]:
    """Return the day and the time that words begin with after another word, and how many words were read for them."""
    day = time = weekday = ""
    place = 0
    while place < min(len(words), _MAX_WORDS):
        word = words[place]
        after = words[place + 1] if place + 1 < len(words) else ""
        before = words[place - 1] if place else before_all
        if not day and (found := _date(word, before, after, pack)):
            day = found
        elif not weekday and (found := _weekday(word, pack)):
            weekday = found
        elif not time and (found := _time(word, before, after, pack)):
            time = found
        elif not time and (spoken := _spoken_time(words, place, pack)):
            time, length = spoken
            place += length - 1
        elif not _beside_a_date(word, pack):
            break
        place += 1
    return day or weekday, time, place


def _beside_a_date(word: str, pack: Pack) -> bool:
    return word in pack.words["before_date"] or word in pack.words["months"] or word[:1].isdigit()


def _weekday(word: str, pack: Pack) -> str:
    for names in ("weekdays", "weekdays_plural", "weekdays_short"):
        if word in pack.order[names]:
            return f"weekday {pack.order[names].index(word) + 1}"
    return ""


def _date(word: str, before: str, after: str, pack: Pack) -> str:
    """Return a date as month and day, read at the name of the month or at a date in digits."""
    for names in ("months", "months_short"):
        if word in pack.order[names]:
            month = pack.order[names].index(word) + 1
            for beside in (before, after):
                number = _ORDINAL.fullmatch(beside)
                if number:
                    return f"{month:02}-{int(number[1]):02}"
            return f"{month:02}" if names == "months" else ""
    digits = _DATE.fullmatch(word)
    if not digits:
        return _lone_ordinal(word, after, pack)
    if digits[1]:
        return f"{int(digits[2]):02}-{int(digits[3]):02}"
    is_date = word.count(".") > 1 or (word.endswith(".") and after not in pack.words["clock_after"])
    return f"{int(digits[3]):02}-{int(digits[2]):02}" if is_date and int(digits[3]) <= 12 else ""  # noqa: PLR2004


def _lone_ordinal(word: str, after: str, pack: Pack) -> str:
    """Return a day of the month that goes without its month."""
    if after in pack.words["months"] or after in pack.words["months_short"] or after in pack.words["joins"]:
        return ""
    return f"day {int(word[:-2])}" if word[-2:] in {"st", "nd", "rd", "th"} and word[:-2].isdecimal() else ""


def _time(word: str, before: str, after: str, pack: Pack) -> str:
    found = _CLOCK.fullmatch(word)
    if not found:
        return ""
    beside = (before in pack.words["clock"] and _ends_time(after, pack)) or after in pack.words["clock_after"]
    half = found[3] if found[3] in {"am", "pm"} else after if after in {"am", "pm"} else ""
    colon = found[2] and "." not in word
    if not (colon or found[3] or half or beside) or {before, after} & pack.words["months"]:
        return ""
    hour = int(found[1]) % 12 + 12 * (half == "pm") if half else int(found[1])
    if hour > _HOURS:
        return ""
    return f"{hour:02}:{found[2] or '00'}"


def _ends_time(after: str, pack: Pack) -> bool:
    """Tell whether a number before a word may be an hour: "at 10", but not "at 10 requests"."""
    names = ("tails", "joins", "before_date", "weekdays", "weekdays_plural", "weekdays_short", "clock_after")
    return not after or any(after in pack.words[name] for name in names)


def _spoken_time(words: Tokens, place: int, pack: Pack) -> tuple[str, int] | None:
    """Return a time in words, such as "half past seven", and how many words it has."""
    before = words[place - 1] if place else ""
    for name, minutes in _SHIFTS.items():
        length = pack.phrases[name].at(words, place)
        if length and place + length < len(words) and (hour := _hour(words[place + length], pack)) is not None:
            total = (hour * 60 + minutes) % (24 * 60)
            return f"{total // 60:02}:{total % 60:02}", length + 1
    hour = _hour(words[place], pack) if before in pack.words["clock"] else None
    return None if hour is None or words[place][0].isdigit() else (f"{hour:02}:00", 1)


def _hour(word: str, pack: Pack) -> int | None:
    """Return the hour that a word tells; "six" and "noon" do."""
    if word in pack.order["numerals"]:
        return pack.order["numerals"].index(word) + 1
    if word in pack.words["noon"]:
        return 12
    return int(word) if word.isdecimal() and len(word) <= 2 else None  # noqa: PLR2004
