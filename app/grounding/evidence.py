"""Picks what of its sources a reader is shown of a statement: the sentences that are nearest to it."""

from collections.abc import Sequence
from typing import Final

from app.grounding.known import Known, SourceReading
from app.language.clauses import sentences

MAX_PAIRS: Final = 8
"""Of a statement that are read."""
MAX_TOKENS: Final = 180
"""Of a pair, about: what separates the texts takes some of 192."""
_LETTERS: Final = 4
"""Of a token, in long words; a word has at least one."""


def pairs(text: str, known: Known) -> list[tuple[str, str]]:
    """Return the pairs of sources and a statement of which one has to follow, the likeliest first.

    Where all sources fit into a pair it is the only one. Else the first has the nearest sentences of all of them, each
    with the sentence before it, and the others have one of them each.
    """
    room = MAX_TOKENS - size(text)
    if room <= 0:
        return []
    whole = "\n".join(source.source.text for source in known.sources)
    if size(whole) <= room:
        return [(whole, text)] if whole.strip() else []
    near = _nearest(text, known)
    found = [_joined(near, room), *(_joined([each], room) for each in near)]
    return [(each, text) for each in dict.fromkeys(found) if each][:MAX_PAIRS]


def size(text: str) -> int:
    """Return about how many tokens a text has."""
    return sum(max(1, (len(word) + 2) // _LETTERS) for word in text.split())


def _nearest(text: str, known: Known) -> list[tuple[int, SourceReading, int]]:
    """Return the sentences that are nearest to a text: the number of the source, the source, and the place in it."""
    keys = frozenset[str]().union(*(sentence.keys for sentence in sentences(text)))
    found = [
        (-near, number, place)
        for number, source in enumerate(known.sources)
        for place, near in source.nearness(keys).items()
    ]
    nearest = sorted(found)[:MAX_PAIRS]
    return [(number, known.sources[number], place) for _, number, place in nearest]


def _joined(near: Sequence[tuple[int, SourceReading, int]], room: int) -> str:
    """Return as many sentences as there is room for, in the order of the sources, each with the one before it."""
    chosen: set[tuple[int, int]] = set()
    sources = {number: source for number, source, _ in near}
    for number, source, place in near:
        own = _room(source, place)
        if (number, place) not in chosen and own <= room:
            chosen.add((number, place))
            room -= own
    for number, source, place in near:
        before = (number, place - 1)
        if (number, place) in chosen and place and before not in chosen and (own := _room(source, place - 1)) <= room:
            chosen.add(before)
            room -= own
    return "\n".join(_text(sources[number], place) for number, place in sorted(chosen))


def _room(source: SourceReading, place: int) -> int:
    return size(_text(source, place))


def _text(source: SourceReading, place: int) -> str:
    sentence = source.sentences[place]
    return source.source.text[sentence.starts : sentence.ends].strip()
