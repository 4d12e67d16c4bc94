"""Finds in a text the orders that are meant for whoever makes memories of it."""

import re
from collections.abc import Iterator

from app.grounding.reading import folded
from app.grounding.wording import WORDINGS

_WORD = re.compile(r"[^\W_]+")
_REACH = 6
_BEGINNINGS = frozenset[str]().union(
    *(wording.words["ignoring"] | wording.phrases["commanding"].by_first.keys() for wording in WORDINGS.values())
)
_SYSTEM = re.compile(r"<\|[a-z_]{1,20}|\[/?INST\]|<</?SYS>>|^\s{0,8}(?:SYSTEM|System)\s?:", re.MULTILINE)


def order_place(text: str) -> int:
    """Return where the sentence begins that gives such an order; the length of the text where none does."""
    places = [match.start() for match in _SYSTEM.finditer(text)][:1]
    if not _BEGINNINGS.isdisjoint(_WORD.findall(folded(text))):
        places.extend(_places(text))
    if not places:
        return len(text)
    return max(text.rfind(mark, 0, min(places)) for mark in ".!?\n") + 1


def evident(text: str) -> str:
    """Return what of a text is evidence: all before the sentence that gives such an order."""
    return text[: order_place(text)]


def _places(text: str) -> Iterator[int]:
    found = [(match.start(), folded(match[0])) for match in _WORD.finditer(text)]
    words = [word for _, word in found]
    for wording in WORDINGS.values():
        ignoring, ignored = wording.words["ignoring"], wording.words["ignored"]
        commanding = wording.phrases["commanding"]
        for place, word in enumerate(words):
            ordered = word in ignoring and not ignored.isdisjoint(words[place + 1 : place + 1 + _REACH])
            if ordered or (word in commanding.by_first and commanding.at(words, place)):
                yield found[place][0]
                break
