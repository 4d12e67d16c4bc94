"""Tells by code whether one text says all that another text says, as far as numbers, dates and names go."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from app.grounding.checking import Checker
from app.grounding.compared import ComparedText
from app.grounding.guards import NAMING
from app.grounding.guards.words import PARTICIPANTS
from app.grounding.source import Source
from app.language.clauses import Word
from app.language.dates.time_expressions import time_expressions
from app.language.modality import may_not_have_happened
from app.language.numbers import Quantity

_T = TypeVar("_T")

_GUARDS: Final = (*NAMING, "negation", "placeholders")
_APOSTROPHES = re.compile("['\u2019]")
_ENDS: Final = ".,;:!?)"
"""Marks behind a word that belong to the sentence."""
_ASKS: Final = frozenset("?\uff1f\u061f\u037e")


def is_of_its_day(text: str) -> bool:
    """Tell whether a text names a time that depends on the day of the text, such as "tomorrow" or "in March"."""
    return any(not expression.fixed for expression in time_expressions(text, None))


def tells(text: str) -> int:
    """Return how many numbers, times and names a text has; a capital that begins a sentence makes no name here."""
    claim = ComparedText(text)
    names = {
        word.folded
        for word in _names(claim)
        if (word.coded or not word.first)
        and word.starts not in claim.quantity_places
        and not claim.in_times(word.starts)
    }
    return len(claim.quantities) + len(claim.times) + len(names)


def says_all(source: Source, other: Source) -> bool:
    """Tell whether one text has every number, date, name and quotation of another, and denies nothing of it.

    Every word with a capital counts as a name, at the beginning of a sentence too: a word too many keeps both texts, a
    word too few would lose a name. Numbers, names, and words with marks, as addresses and code have them, must be
    written alike and come in the same order: "5 to 6" does not say "6 to 5". A question says no statement, and a denial
    and a text that denies nothing do not say each other.
    """
    if any(tells_of(source.text) != tells_of(other.text) for tells_of in (_ASKS.isdisjoint, may_not_have_happened)):
        return False
    compared, claim = ComparedText(source.text), ComparedText(other.text)
    written = {word.text for word in claim.words}
    if any(word.coded and word.folded in claim.forms and word.text not in written for word in compared.words):
        return False  # "US" is another word than "us"
    if not _in_order(_names(claim), compared.words, _is_named):
        return False
    if not _in_order(_marked(other.text), _marked(source.text), str.__eq__):
        return False
    if not _in_order(claim.quantities, compared.quantities, _is_as_many):
        return False
    return not Checker().check(other.text, [source], guards=_GUARDS).ungrounded


def _in_order(details: Iterable[_T], among: Iterable[_T], are_alike: Callable[[_T, _T], bool]) -> bool:
    """Tell whether each detail is among the others, behind the detail before it."""
    left = iter(among)
    return all(any(are_alike(detail, other) for other in left) for detail in details)


def _is_named(name: Word, word: Word) -> bool:
    """Tell whether a word is a name as it is written; the capital of a name that begins a sentence does not count."""
    return name.text == word.text or (name.first and not name.coded and name.folded == word.folded)


def _is_as_many(quantity: Quantity, other: Quantity) -> bool:
    return not set(quantity.values).isdisjoint(other.values)


def _marked(text: str) -> list[str]:
    """Return in their order the words with digits or marks: "-3", "a.b@example.com", "!="."""
    words = (word.lstrip("(").rstrip(_ENDS) for word in text.split())
    return [word for word in words if word and not _APOSTROPHES.sub("", word).isalpha()]


def _names(claim: ComparedText) -> Iterator[Word]:
    """Yield the words that are written as names and codes are."""
    return (word for word in claim.words if word.coded or (word.capital and word.folded not in PARTICIPANTS))
