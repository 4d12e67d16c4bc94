"""Splits a content into sentences."""

import re
from collections.abc import Iterable, Iterator

import sentencex

from app.language.dates.time_words import MONTHS

MAX_SENTENCES = 200
"""Sentences of a content that are read, at most."""

MAX_SENTENCE = 400
"""Characters of a sentence that are read, at most."""

_SPLITTER = "en"
"""The language whose abbreviations end no sentence: a content does not say its language."""

_UNREADABLE = re.compile('[\ud800-\udfff"\u00ab\u00bb\u201c-\u201f\u300c-\u300f]')
"""Characters that the splitter cannot take, and quotation marks: these make it read case, and many take it long."""

_DAY = re.compile(r"(?<!\S)\d{1,2}\.[^\S\n]+\Z")
_MONTH = re.compile(rf"(?:{'|'.join(MONTHS)})(?!\w)", re.IGNORECASE)


def sentences(content: str, start: int = 0) -> list[str]:
    """Split a content from ``start`` on; a line break ends a sentence too, because notes and lists go without stops.

    Each sentence is without the white space around it, and cut to ``MAX_SENTENCE`` characters.
    """
    found: list[str] = []
    readable = _UNREADABLE.sub("_", content[start : start + MAX_SENTENCES * MAX_SENTENCE])
    for length in _lengths(sentencex.segment(_SPLITTER, _lowered(readable))):
        lines = filter(None, map(str.strip, content[start : start + length].splitlines()))
        found += [line[:MAX_SENTENCE].rstrip() for line in lines]
        if len(found) >= MAX_SENTENCES:
            break
        start += length
    return found[:MAX_SENTENCES]


def _lowered(text: str) -> str:
    """Return a text in lower case, so that case does not decide where a sentence ends.

    A text whose length would change is returned as it is, so that no place moves.
    """
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


def _lengths(pieces: Iterable[str]) -> Iterator[int]:
    """Yield the lengths of sentences.

    A full stop without a space after it, as in a host name, does not end a sentence, nor does that of "am 3. Mai".
    """
    before, length = "", 0
    for piece in pieces:
        if length and not before.endswith(".") and not (_DAY.search(before) and _MONTH.match(piece)):
            yield length
            length = 0
        length += len(piece)
        before = piece
    if length:
        yield length
