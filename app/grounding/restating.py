"""Tells by code whether one text says all that another one says, as far as numbers, dates and names go."""

import re
from collections.abc import Iterator
from typing import Final

from app.grounding.checking import Checker
from app.grounding.guards import NAMING
from app.grounding.guards.words import ASSISTANT, SPEAKER, USER
from app.grounding.known import Claim
from app.grounding.source import Source
from app.language.clauses import Word
from app.language.dates.told import told

_GUARDS: Final = (*NAMING, "negation", "placeholders")
_PARTS = re.compile(r"[^\W_]+")
_NUMBERS = re.compile(r"-?\d+(?:[.,:]\d+)*")


def is_of_its_day(text: str) -> bool:
    """Tell whether a text names a time that is another one on another day, such as "tomorrow" or "in March"."""
    return any(not each.fixed for each in told(text, None))


def tells(text: str) -> int:
    """Return how many numbers, times and names a text has; a capital that begins a sentence makes no name here."""
    claim = Claim(text)
    numbers = {place for each in claim.quantities for place in range(each.starts, each.ends)}
    names = {
        word.folded
        for word in _names(claim)
        if (word.coded or not word.first) and word.starts not in numbers and not claim.in_times(word.starts)
    }
    return len(claim.quantities) + len(claim.times) + len(names)


def says_all(kept: Source, other: Source) -> bool:
    """Tell whether one text has every number, date, name and quotation of another, and denies nothing of it.

    Whatever is written with a capital counts as a name, at the beginning of a sentence too: what is one word too many
    keeps both texts, what is one too few would lose a name. A number has to be written alike, so that it is found as it
    was.
    """
    one = Claim(kept.text)
    words = {part for word in one.words for part in (word.folded, *_PARTS.findall(word.folded))}
    claim = Claim(other.text)
    if any(word.folded not in words for word in _names(claim)):
        return False
    values = {value for quantity in one.quantities for value in quantity.values}
    if any(values.isdisjoint(quantity.values) for quantity in claim.quantities):
        return False
    if not set(_NUMBERS.findall(other.text)) <= set(_NUMBERS.findall(kept.text)):
        return False  # "3" is not told by "-3", nor by the 3 of a date
    return not Checker().check(other.text, [kept], guards=_GUARDS).ungrounded


def _names(claim: Claim) -> Iterator[Word]:
    """Give the words that are written as names and codes are."""
    unnamed = SPEAKER | USER | ASSISTANT
    return (word for word in claim.words if (word.capital or word.coded) and word.folded not in unnamed)
