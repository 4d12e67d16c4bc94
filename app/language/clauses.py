"""Reads a text as sentences of clauses of words, each word with its form, its place and how it is written."""

import re
from dataclasses import dataclass, field
from typing import Final

from app.domain.words import folded

_TOKEN = re.compile(
    r"(?P<word>[^\W_]+(?:['\u2019][^\W\d_]+)*(?:(?:[-_./:@#+&]|(?<=\d),(?=\d))[^\W_]+)*[+#]{0,2})"
    r"|(?P<stop>[.!?\u2026\u3002](?=\s|$|[\"\u201d\u201c\u00ab\u00bb)\]])|\n)"
    r"|(?P<mark>[;:()\u2014\u2013,])"
)
_STEM: Final = 4
_ENDING: Final = 3
"""Letters by which the lengths of two forms of a word differ at most."""
_LONGEST: Final = 60
"""Words of a sentence; a longer sentence is read as several."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: as it is written, in folded form without an ending behind an apostrophe, and its place."""

    text: str
    folded: str
    starts: int
    ends: int
    first: bool
    """Whether the word begins a sentence."""

    @property
    def capital(self) -> bool:
        """Whether the word is written with a capital, as names are."""
        return self.text[0].isupper()

    @property
    def coded(self) -> bool:
        """Whether the word has digits, or capitals inside: a code or a product's name."""
        return any(letter.isdigit() for letter in self.text) or any(letter.isupper() for letter in self.text[1:])

    @property
    def owns(self) -> bool:
        """Whether the word is a possessive: "Ann's"."""
        return self.text[-2:] in {"'s", "\u2019s"}

    @property
    def key(self) -> str:
        """The beginning of the word, by which other forms of the word are searched for."""
        return self.folded[:_STEM]

    def akin(self, other: "Word") -> bool:
        """Tell whether words may be forms of one word, in any language: they begin alike and differ at their ends."""
        if self.folded == other.folded:
            return True
        short, long = sorted((self.folded, other.folded), key=len)
        if len(long) - len(short) > _ENDING:
            return False
        if len(short) > _STEM:
            return long.startswith(short[:-2])
        return len(short) >= _ENDING and long.startswith(short)


@dataclass(slots=True)
class Clause:
    """The words between two punctuation marks."""

    words: list[Word] = field(default_factory=list)
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence at text[starts:ends], or a part of a sentence that is too long."""

    starts: int
    ends: int
    clauses: list[Clause]
    keys: frozenset[str]


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text in their order; a line break ends a sentence too."""
    found: list[Sentence] = []
    clauses: list[Clause] = [Clause()]
    count, first = 0, True
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "word":
            clauses[-1].words.append(_word(match, first=first))
            first, count = False, count + 1
            if count < _LONGEST:
                continue
        elif match.lastgroup == "mark":
            clauses.append(Clause())
            continue
        else:
            first = True
        if count:
            found.append(_sentence(clauses, match.end(), asks=match[0] == "?"))
        clauses, count = [Clause()], 0
    if count:
        found.append(_sentence(clauses, len(text), asks=False))
    return found


def _sentence(clauses: list[Clause], ends: int, *, asks: bool) -> Sentence:
    filled = [clause for clause in clauses if clause.words]
    for clause in filled:
        clause.asks = asks
    keys = frozenset(word.key for clause in filled for word in clause.words)
    return Sentence(filled[0].words[0].starts, ends, filled, keys)


def _word(match: re.Match[str], *, first: bool) -> Word:
    form = folded(match[0])
    if "'" in form and not form.endswith("n't"):
        form = form.partition("'")[0]
    return Word(match[0], form, match.start(), match.end(), first)
