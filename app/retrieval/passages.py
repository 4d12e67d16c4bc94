"""Picks the part of a long text that has most of a query's words."""

import re
from collections.abc import Sequence
from typing import Final

from app.retrieval.query.terms import Term

MAX_LOOKED_AT: Final = 8_000
"""Characters of a text in which the part is looked for."""
_STEM = 5
"""Letters by which a word is looked for: its ending may differ in the text."""
_MAX_TERMS, _MAX_FOUND = 10, 6
"""Terms that are looked for, and positions of each term."""
_LEAD = 120
"""Characters before the passage's first term in which the passage begins: at a sentence or a line that begins there."""
_BEGINNING = re.compile(r"(?:(?<=[.!?])\s+|\n+)")


def passage(text: str, terms: Sequence[Term], most: int) -> str:
    """Return the part of a text, of at most ``most`` characters, that has the most terms; of several the first."""
    if len(text) <= most:
        return text
    searched = text[:MAX_LOOKED_AT].lower()
    positions = sorted(
        (position, number)
        for number, term in enumerate(terms[:_MAX_TERMS])
        for position in _places(searched, term.text[:_STEM])
    )
    best, begin = 1, 0
    for first, _ in positions:
        start = _start(searched, first)
        count = len({number for position, number in positions if start <= position < start + most})
        if count > best or (count == best and start < begin):
            best, begin = count, start
    return text[begin : begin + most].strip()


def _places(text: str, word: str) -> list[int]:
    positions: list[int] = []
    position = text.find(word)
    while position >= 0 and len(positions) < _MAX_FOUND:
        if position == 0 or not text[position - 1].isalnum():
            positions.append(position)
        position = text.find(word, position + len(word))
    return positions


def _start(text: str, position: int) -> int:
    before = text[max(position - _LEAD, 0) : position]
    ends = [match.end() for match in _BEGINNING.finditer(before)]
    if ends:
        return position - len(before) + ends[-1]
    return position if len(before) == _LEAD else 0
