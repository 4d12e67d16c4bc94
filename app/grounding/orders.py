"""Finds in a text the orders that are meant for whoever makes memories of it."""

import re

from app.grounding.reading import folded
from app.grounding.wording import WORDINGS

_WORD = re.compile(r"[^\W_]+")
_REACH = 6
_SYSTEM = re.compile(r"<\|[a-z_]{1,20}|\[/?INST\]|<</?SYS>>|^\s{0,8}(?:SYSTEM|System)\s?:", re.MULTILINE)


def order_place(text: str) -> int:
    """Return where the sentence begins that gives such an order; the length of the text where none does."""
    places = [match.start() for match in _SYSTEM.finditer(text)][:1]
    found = [(match.start(), folded(match[0])) for match in _WORD.finditer(text)]
    words = [word for _, word in found]
    for wording in WORDINGS.values():
        places.extend(found[place][0] for place in _orders(words, wording.words["ignoring"], wording.words["ignored"]))
        commanding = wording.phrases["commanding"]
        first = commanding.by_first
        places.extend(
            found[place][0] for place, word in enumerate(words) if word in first and commanding.at(words, place)
        )
    if not places:
        return len(text)
    return max(text.rfind(mark, 0, min(places)) for mark in ".!?\n") + 1


def _orders(words: list[str], verbs: frozenset[str], nouns: frozenset[str]) -> list[int]:
    return [
        place
        for place, word in enumerate(words)
        if word in verbs and not nouns.isdisjoint(words[place + 1 : place + 1 + _REACH])
    ][:1]
