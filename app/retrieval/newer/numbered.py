"""Tells which numbers stand beside which nouns: "server 2" and "server 3" are two things, whichever is newer."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from app.language.dates.time_words import MONTHS, WEEKDAYS
from app.retrieval.newer.stated_values import MAX_READ
from app.retrieval.newer.values import UNITS
from app.retrieval.newer.wording import is_content, stem

Numbers = Mapping[str, frozenset[str]]
"""Stems of nouns with the numbers beside them."""
_MAX_QUERY = 400
_MAX_NOUNS, _MAX_LISTED = 16, 16
"""Places of one noun, and numbers of one place, that are read of a text."""
_ROOT = 3
"""Letters of a noun that all of its forms begin with."""

_WORD = re.compile(r"(?<!\w)[^\W\d_]{2,}")
_NUMBER = r"(\d\w*(?:[.,:/-]\w+)*)"
_FIRST = re.compile(rf"(?<=[^\W\d_])(?:[ \t]++(?:number|nummer|no\.?|nr\.?))?[ \t#(-]{{1,4}}{_NUMBER}")
"""What stands right behind a noun: "server 2", "room no. 4", "item number 0", "model-1", "ticket #12"."""
_NEXT = re.compile(rf"(?<=\w)[ \t]*+(,?[ \t]*+\b(?:and|or|to|und|oder|bis|och|eller|till)\b|[,/&+])[ \t]*+{_NUMBER}")
"""What stands behind such a number: "servers 2, 3 and 4"."""
_ORDINAL = re.compile(r"(?<!\w)(\d+)(?:st|nd|rd|th) \Z")
_ORDINALS = ("st ", "nd ", "rd ", "th ")
_LONGEST_ORDINAL = 8
_UNIT = re.compile(r"\d([^\W\d_]+)\Z")
_AFTER = re.compile(r"(?<=\w)[ \t]*+([^\W\d_]+|[%$€£])(?![ \t]*\d)")


def numbers_asked(query: str) -> Numbers:
    """Return the numbers by which a query names things: 2 of "the latency of server 2"."""
    text = query[:_MAX_QUERY].lower()
    found: dict[str, set[str]] = {}
    for word in _WORD.finditer(text):
        if is_content(word[0]) and word[0] not in MONTHS and word[0] not in WEEKDAYS:
            found.setdefault(stem(word[0]), set()).update(_beside(text, word))
    return {noun: frozenset(numbers) for noun, numbers in found.items() if numbers}


def has_numbers(text: str, asked: Numbers) -> bool | None:
    """Tell whether a text names what a query names by numbers; None where it names some of these nouns without one.

    It is False of a text that has only other numbers beside a noun: with "server 3 in phase 2" server 2 is not meant.
    """
    lowered = text[:MAX_READ].lower()
    whole = True
    for noun, numbers in asked.items():
        found = {number for word in _places(noun, lowered) for number in _beside(lowered, word)}
        if found and not all(any(_is_of(each, number) for each in found) for number in numbers):
            return False
        whole = whole and bool(found)
    return whole or None


def _is_of(number: str, asked: str) -> bool:
    """Tell whether a number is the one asked for, or a part of it: 3.12 of 3, and neither 30 nor 3c."""
    return number == asked or (number.startswith(asked) and not number[len(asked)].isalnum())


def _places(noun: str, text: str) -> Iterator[re.Match[str]]:
    """Give where a noun stands, in any form."""
    words = (_WORD.match(text, place) for place in _found(noun[:_ROOT], text))
    return islice((word for word in words if word and stem(word[0]) == noun), _MAX_NOUNS)


def _found(root: str, text: str) -> Iterator[int]:
    place = text.find(root)
    while place >= 0:
        yield place
        place = text.find(root, place + len(root))


def _beside(text: str, word: re.Match[str]) -> Iterator[str]:
    """Give the numbers beside a noun that name something; one with a unit does not: "a timeout of 20 s"."""
    before = text[max(0, word.start() - _LONGEST_ORDINAL) : word.start()]
    if before.endswith(_ORDINALS) and (ordinal := _ORDINAL.search(before)):
        yield ordinal[1]
    number = _FIRST.match(text, word.end())
    for _ in range(_MAX_LISTED):
        if number is None or _is_measure(text, number):
            break
        yield number[number.lastindex or 0]
        number = _one_more(text, number.end())


def _one_more(text: str, end: int) -> re.Match[str] | None:
    """Return the next number of a list: "servers 2, 3 and 4", and not "in room 5, 4 beds"."""
    number = _NEXT.match(text, end)
    if number is None or not number[1].startswith(","):
        return number
    after = _AFTER.match(text, number.end())
    return None if after and is_content(after[1]) else number


def _is_measure(text: str, number: re.Match[str]) -> bool:
    """Tell whether a number has a unit."""
    unit = _UNIT.search(number[0]) or _AFTER.match(text, number.end())
    return unit is not None and unit[1] in UNITS
