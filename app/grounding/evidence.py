"""Picks the sentences of its sources that a reader reads for a statement: those nearest to the statement."""

from collections.abc import Sequence
from typing import Final

from app.grounding.compared import SourceContents
from app.language.clauses import sentences

MAX_PAIRS: Final = 8
"""Pairs of one statement that are read, at most."""
MAX_TOKENS: Final = 180
"""Tokens of a pair, about: the separators of the texts take some of 192."""
_LETTERS: Final = 4
"""Letters of a token, in long words; a word has at least one token."""


def pairs(text: str, cited: SourceContents) -> list[tuple[str, str]]:
    """Return pairs of source text and a statement, the likeliest first; the statement has to follow in one of them.

    Where all sources fit into a pair, that pair is the only one. Else the first pair has the nearest sentences of all
    sources, each with the sentence before it, and each of the other pairs has one of these sentences.
    """
    room = MAX_TOKENS - size(text)
    if room <= 0:
        return []
    whole = "\n".join(source.text for source in cited.sources)
    if size(whole) <= room:
        return [(whole, text)] if whole.strip() else []
    keys = (key for sentence in sentences(text) for key in sentence.keys)
    near = cited.nearest(keys, MAX_PAIRS)
    found = [_joined(near, cited, room), *(_joined([nearest], cited, room) for nearest in near)]
    return [(source, text) for source in dict.fromkeys(found) if source][:MAX_PAIRS]


def size(text: str) -> int:
    """Return about how many tokens a text has."""
    return sum(max(1, (len(word) + 2) // _LETTERS) for word in text.split())


def _joined(near: Sequence[tuple[int, int]], cited: SourceContents, room: int) -> str:
    """Return as many sentences as there is room for, in the order of the sources, each with the sentence before it."""
    texts: dict[tuple[int, int], str] = {}
    for number, place in (*near, *((number, place - 1) for number, place in near if place)):
        source = cited.sources[number]
        sentence = source.sentences[place]
        text = source.text[sentence.starts : sentence.ends].strip()
        leads = (number, place) in near or (number, place + 1) in texts
        if leads and (number, place) not in texts and size(text) <= room:
            texts[number, place] = text
            room -= size(text)
    return "\n".join(texts[position] for position in sorted(texts))
