"""Reads the values in the words of a sentence: amounts, shares, dates, times and plain numbers; names where wanted."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.language.dates.time_words import MONTHS, WEEKDAYS
from app.retrieval.newer.wording import FUNCTION_WORDS, is_content, is_word, stem

_NUMBER = re.compile(r"([$€£])?(\d[\d.,:/-]*)([^\W\d_]+|%)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CLOCK = re.compile(r"\d{1,2}:\d{2}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_DAY_OF_MONTH = re.compile(r"\d{1,2}")
_YEAR = re.compile(r"(?:19|20)\d{2}")
_ORDINALS = frozenset({"st", "nd", "rd", "th"})

UNITS = {
    name: kind
    for kind, names in {
        "share": "% percent percentage prozent procent",
        "money": "$ € £ dollar dollars euro euros eur usd pound pounds kr kronor sek chf",
        "size": "byte bytes kb mb gb tb kib mib gib",
        "length": "mm cm m km mile miles metre metres meter meters kilometre kilometres feet ft",
        "mass": "mg g kg lb lbs gram grams kilo kilos kilogram kilograms",
        "duration": "ms s sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks"
        " month months year years",
        "time": "am pm uhr",
    }.items()
    for name in names.split()
}
"""Kinds of values by the sign or word that tells them."""

_WRITTEN_OUT = "two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_WRITTEN_OUT.split(" "), 2)}


@dataclass(frozen=True, slots=True)
class Value:
    """A value, and where in the words it stands."""

    kind: str
    text: str
    counted: str
    """The stem of what a plain number counts: "commit" of "150 commits"."""
    place: int


def values(words: Sequence[str]) -> Iterator[Value]:
    """Give the values among the words of a sentence, which are in lower case."""
    for place, word in enumerate(words):
        if word in WEEKDAYS:
            yield Value("day", word, "", place)
        elif word in NUMBER_WORDS:
            yield _amount(NUMBER_WORDS[word], "", words, place)
        elif not is_word(word) and (number := _NUMBER.fullmatch(word)):
            sign, digits, unit = number.groups(default="")
            moment = _moment(digits, unit, words, place)
            if moment:
                yield Value(*moment, "", place)
            elif not _of_a_date(digits, words, place):
                yield _amount(_plain(digits), sign or unit, words, place)


def names(words: Sequence[str]) -> Iterator[Value]:
    """Give the names among the words of a sentence as they are written: words that begin with a capital letter."""
    last = -2
    for place, word in enumerate(words):
        if word[0].isupper() and is_content(word.lower()) and word.lower() not in MONTHS:
            if last != place - 1:  # the first word of a name stands for all of it
                yield Value("name", word.lower(), "", place)
            last = place


def plain_value(token: str) -> str | None:
    """Return the number that a token is; None for a word."""
    number = _NUMBER.fullmatch(token)
    return NUMBER_WORDS.get(token) if number is None else _plain(number[2])


def _plain(digits: str) -> str:
    return _THOUSANDS.sub("", digits)


def _moment(digits: str, unit: str, words: Sequence[str], place: int) -> tuple[str, str] | None:
    """Return the kind and the text of a day or a time; None where a number is neither."""
    if _CLOCK.fullmatch(digits):
        return "time", digits
    if unit and unit not in _ORDINALS:
        return None
    if _DAY.fullmatch(digits):
        return "day", digits
    if not _DAY_OF_MONTH.fullmatch(digits):
        return None
    after = next((word for word in words[place + 1 : place + 3] if word != "of"), "")
    month = MONTHS.get(_at(words, place - 1)) or MONTHS.get(after)
    return ("day", f"{month}-{int(digits)}") if month else None


def _of_a_date(digits: str, words: Sequence[str], place: int) -> bool:
    """Tell whether a number is a year that belongs to a date or a period."""
    if not _YEAR.fullmatch(digits):
        return False
    return _at(words, place - 1) in {"in", "since", "of"} or any(w in MONTHS for w in words[max(0, place - 3) : place])


def _amount(number: str, unit: str, words: Sequence[str], place: int) -> Value:
    after = _at(words, place + 1)
    kind = UNITS.get(unit) or UNITS.get(after)
    if kind:
        return Value(kind, number, "", place)
    counts = after and is_word(after) and after not in FUNCTION_WORDS
    return Value("number", number, stem(after) if counts else "", place)


def _at(words: Sequence[str], place: int) -> str:
    return words[place] if 0 <= place < len(words) else ""
