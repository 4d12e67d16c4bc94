"""Tells whether a text says what is expected, and at which rank of a recall what a question expects was found."""

import re
from collections.abc import Callable, Iterator, Sequence

from app.domain.golden import GoldenQuestion
from app.domain.query import Entry

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SPACES = re.compile(r"\s+")


def says_one_of(text: str, alternatives: Sequence[str]) -> bool:
    """Tell whether a text has one of the alternatives, as words of their own, whatever their case."""
    folded = _folded(text)
    return any(_has(folded, _folded(each)) for each in alternatives)


def last_rank(question: GoldenQuestion, entries: Sequence[Entry]) -> int | None:
    """Return the rank, from 1, at which the last memory is that the question expects; None: one is missing."""
    ranks = [
        next((rank for rank, entry in enumerate(entries, 1) if is_wanted(entry)), None)
        for is_wanted in _expectations(question)
    ]
    found = [rank for rank in ranks if rank is not None]
    return max(found) if found and len(found) == len(ranks) else None


def _expectations(question: GoldenQuestion) -> Iterator[Callable[[Entry], bool]]:
    for id_ in question.gold:
        yield lambda entry, id_=id_: entry.id == id_  # type: ignore[misc]
    for alternatives in question.expected:
        yield lambda entry, alternatives=alternatives: says_one_of(entry.content, alternatives)  # type: ignore[misc]
    if question.metadata:
        wanted = question.metadata.items()
        yield lambda entry: all(key in entry.metadata and entry.metadata[key] == value for key, value in wanted)


def _folded(text: str) -> str:
    return _SPACES.sub(" ", _THOUSANDS.sub("", text.casefold())).strip()


def _has(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None
