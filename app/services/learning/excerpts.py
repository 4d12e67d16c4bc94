"""Shows of long messages what some statements may come from."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from app.domain.words import folded
from app.services.learning.transcript import Line

ROOM = 16_000
"""Characters of messages that are read at once beside proposals."""
_LEAST = 400
"""Characters that are shown of each cited message, however many there are."""
_PIECE = re.compile(r".{1,400}?(?:[.!?。]\s+|\n|$)|.{1,400}", re.DOTALL)
_WORD = re.compile(r"\w+")
_LEFT_OUT = " … "


def excerpts(lines: Sequence[Line], cited: Collection[str], statements: Sequence[str]) -> Sequence[Line]:
    """Return lines with at most about ``ROOM`` characters: all that are there, or else those that are ``cited``.

    Of a cited one that is too long the pieces are kept that have most words of the statements.
    """
    if sum(len(line.content) for line in lines) <= ROOM:
        return lines
    kept = [line for line in lines if line.message_id in cited]
    room = max(_LEAST, ROOM // max(1, len(kept)))
    words = {word for statement in statements for word in _words(statement)}
    return [replace(line, content=_excerpt(line.content, words, room)) for line in kept]


def _excerpt(text: str, words: Collection[str], room: int) -> str:
    """Return the pieces of a text that have most of the words, in their order."""
    if len(text) <= room:
        return text
    pieces = _PIECE.findall(text)
    shared = [len(_words(piece).intersection(words)) for piece in pieces]
    chosen: set[int] = set()
    for place in sorted(range(len(pieces)), key=lambda place: (-shared[place], place)):
        if len(pieces[place]) <= room:
            chosen.add(place)
            room -= len(pieces[place])
    return "".join(_joined(pieces, sorted(chosen))).strip()


def _words(text: str) -> set[str]:
    return {*_WORD.findall(folded(text))}


def _joined(pieces: Sequence[str], places: Sequence[int]) -> Iterator[str]:
    before = -1
    for place in places:
        if place != before + 1:
            yield _LEFT_OUT
        yield pieces[place]
        before = place
