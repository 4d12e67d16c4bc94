"""Folds text and splits it into tokens: lists of words are read, so that no expression can run away on a text."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.words import folded

Tokens = tuple[str, ...]

BREAKS = frozenset(",;:!?()\u2026\u2014\u2013\u00b7.")
QUOTES = frozenset('"\u201c\u201d\u201e\u00ab\u00bb')

# A word keeps what stands inside addresses, versions, times and amounts: a.b@c.example, 3.11, 9:30, 80,000.
_TOKEN = re.compile(
    r"[\w$\u20ac\u00a3+#@&](?:[\w.\-/:@+#%&'_~\u20ac$]|(?<=\d),(?=\d{1,3}(?!\d)))*"
    r"|(?<!\w)'s(?!\w)|[,;:!?().\"\u201c\u201d\u201e\u00ab\u00bb\u2026\u2014\u2013\u00b7]"
)
_TRAILING = ".:-/'&+_~"
_IS_AFTER = frozenset(("it", "that", "there", "he", "she", "here", "what", "where", "who", "when", "how", "which"))
_ENDINGS = (("n't", "not"), ("'m", "am"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'d", "would"))
_SHORTENED = {"let's": "let us"}
_STEMS = {"ca": "can", "wo": "will"}


def tokens(text: str) -> Tokens:
    """Split a text into folded words and marks; contractions are written out and a possessive ``'s`` stands alone."""
    found: list[str] = []
    for raw in _TOKEN.findall(folded(text)):
        if raw.isalnum() or len(raw) == 1:
            found.append(raw)
        else:
            found.extend(_parts(raw))
    return tuple(found)


def _parts(raw: str) -> Iterator[str]:
    word = raw if raw.endswith("++") else raw.rstrip(_TRAILING)
    if "'" in word:
        yield from _written_out(word)
    elif word:
        yield word
    if raw.endswith(":"):
        yield ":"


def _written_out(word: str) -> Iterator[str]:
    """Give the words of a contraction."""
    if word in _SHORTENED:
        yield from _SHORTENED[word].split()
        return
    for ending, full in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            stem = word[: -len(ending)]
            yield _STEMS.get(stem, stem)
            yield full
            return
    stem, mark, rest = word.partition("'s")
    if not mark or rest or not stem:
        yield word
        return
    yield stem
    yield "is" if stem in _IS_AFTER else "'s"


@dataclass(frozen=True, slots=True)
class Phrases:
    """A set of phrases, found by their first word."""

    by_first: Mapping[str, tuple[Tokens, ...]]

    @classmethod
    def of(cls, phrases: Iterable[Tokens]) -> "Phrases":
        """Make a set of phrases; the longest of those that begin alike is tried first."""
        by_first: dict[str, list[Tokens]] = {}
        for phrase in sorted(phrases, key=len, reverse=True):
            if phrase:
                by_first.setdefault(phrase[0], []).append(phrase)
        return cls({first: tuple(rest) for first, rest in by_first.items()})

    def at(self, words: Sequence[str], place: int) -> int:
        """Return how many words the longest phrase has that begins at a place; 0 where none does."""
        for phrase in self.by_first.get(words[place], ()):
            if len(phrase) == 1 or tuple(words[place : place + len(phrase)]) == phrase:
                return len(phrase)
        return 0

    def within(self, words: Sequence[str]) -> bool:
        """Tell whether any phrase stands among the words."""
        if self.by_first.keys().isdisjoint(words):
            return False
        return any(word in self.by_first and self.at(words, place) for place, word in enumerate(words))

    def without(self, words: Sequence[str]) -> Tokens:
        """Return the words less every phrase."""
        if self.by_first.keys().isdisjoint(words):
            return tuple(words)
        kept, place = [], 0
        while place < len(words):
            length = self.at(words, place) if words[place] in self.by_first else 0
            if not length:
                kept.append(words[place])
            place += length or 1
        return tuple(kept)

    def until(self, words: Sequence[str]) -> Tokens:
        """Return the words before the first phrase."""
        for place, word in enumerate(words):
            if word in self.by_first and self.at(words, place):
                return tuple(words[:place])
        return tuple(words)

    def trimmed(self, words: Tokens) -> Tokens:
        """Return the words without the phrases they begin with."""
        while words and (length := self.at(words, 0)):
            words = words[length:]
        return words
