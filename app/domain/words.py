"""Splits text into words, in the same way where a memory is written and where a query is searched for.

SQLite's FTS5 splits text into words, folds case and accents and takes English endings off (``porter`` over
``unicode61``). This module makes the words that FTS5 cannot make: *segments*. Text of a script without spaces between
words becomes overlapping pairs of characters. Arabic words lose vowel signs, and the articles and endings that are
written on to them (the light10 stemmer of Larkey, Ballesteros and Connell, 2007). Full-width and other compatibility
forms become the characters that they stand for (NFKC).
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

# From the blocks of Unicode's Scripts.txt; Hangul has spaces, but words that differ only in their endings.
_SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_ARABIC = "\u0610-\u061a\u0620-\u0669\u066e-\u06dc\u06ee-\u06ff"
_MARKS = "\u0300-\u036f\u0900-\u0dff"  # accents, and the scripts of India, which write vowels as marks
WORD = rf"[\w{_SPACELESS}{_ARABIC}{_MARKS}]+"
"""A regular expression for a word: the characters between spaces and punctuation."""

_WORD = re.compile(WORD)
_SPACED = re.compile(r"[\n\r`\"\u201c\u201d\u201e\u00ab\u00bb]")
"""Signs that the white space of a text may matter: of lines, of code and of quotations."""
# The text between characters that are no part of a word for FTS5 either. FTS5 has the Unicode of 2012: it takes a
# younger character, as many emoji are, for a letter of the word beside it.
_APART = re.compile(
    r"[^\s!-/:-@\[-^`{-~\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u2000-\u206f\u3000-\u3004\u3008-\u303f]+"
)
_PIECE = re.compile(rf"[{_SPACELESS}]+|[{_ARABIC}]+|[^{_SPACELESS}{_ARABIC}]+")
_IS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_IS_ARABIC = re.compile(f"[{_ARABIC}]")

_ARABIC_SIGNS = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_ARABIC_LETTERS = str.maketrans("\u0623\u0625\u0622\u0671\u0649\u0629", "\u0627\u0627\u0627\u0627\u064a\u0647")
_ARABIC_BEFORE = re.compile("^(?:\u0648?(?:[\u0628\u0643\u0641]?\u0627\u0644|\u0644\u0644)|\u0648)(?=..)")
_ARABIC_AFTER = re.compile(
    "(?<=..)(?:\u0647\u0627|\u0627[\u0646\u062a]|[\u0648\u064a]\u0646|\u064a\u0647|[\u0647\u064a])$"
)

_MAX_MARKS = 30
_JOINER = "\u034f"
# Marks beyond U+FFFF are told apart from other characters in the runs that match: a class with each of these marks
# takes far longer.
_MARK = "".join(filter(unicodedata.combining, map(chr, range(0x10000)))) + "\U00010000-\U0001ffff"
_HIDDEN_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"  # no marks themselves, but they become marks
_PERHAPS_MARKS = re.compile(f"[{_MARK}{_HIDDEN_MARKS}]{{{_MAX_MARKS + 1},}}")


def normalised(text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFKC") -> str:
    """Return a text in a normal form of Unicode, in time that grows with its length.

    Python 3.11 orders a run of combining marks in time that grows with its square. So a joiner stands between each 30
    of them, which is Unicode's stream-safe form (https://unicode.org/reports/tr15/#Stream_Safe_Text_Format).
    """
    return text if text.isascii() else unicodedata.normalize(form, _PERHAPS_MARKS.sub(_joined, text))


def folded(text: str) -> str:
    """Return a text in the form for comparisons: without difference of case, apostrophes and compatible characters."""
    return normalised(text).casefold().replace("\u2019", "'")


def plain(text: str) -> str:
    """Return a text folded, with single spaces: the form in which it is searched for in another text."""
    return " ".join(folded(text).split())


def as_written(text: str) -> str:
    """Return a text without differences that have no meaning: in how a character is composed, and how wide a space is.

    Case has a meaning: in "us" and "US", in "mW" and "MW", in codes and addresses. So have compatible characters:
    10\u00b2 is not 102.
    """
    composed = normalised(text, "NFC")
    return composed if _SPACED.search(composed) else " ".join(composed.split())


def _joined(run: re.Match[str]) -> str:
    """Put a joiner between each 30 combining marks."""
    marks, joined = 0, []
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) or character in _HIDDEN_MARKS else 0
        if marks > _MAX_MARKS:
            joined.append(_JOINER)
            marks = 1
        joined.append(character)
    return "".join(joined)


def segments(text: str) -> str:
    """Return the words of a text that FTS5 would not find by itself, separated by spaces; most texts have none."""
    if text.isascii():
        return ""
    known = {word for word in _APART.findall(text) if _WORD.fullmatch(word)}
    words = _WORD.findall(normalised(text))
    return " ".join(segment for word in words for segment in _segments(word, found=word in known))


def words(word: str) -> Iterator[str]:
    """Give the search terms that find a word of normalised text, in segments or as FTS5 splits the word."""
    for piece in _PIECE.findall(word):
        if is_spaceless(piece) and len(piece) > 1:
            yield from _pairs(piece)
        else:
            yield stem(piece) if _IS_ARABIC.match(piece) else piece


def is_spaceless(piece: str) -> bool:
    """Tell whether a piece is of a script without spaces; there a single character is the beginning of segments."""
    return _IS_SPACELESS.match(piece) is not None


def _segments(word: str, *, found: bool) -> Iterator[str]:
    """Give the segments of a word; none where FTS5 has ``found`` the word and splits it correctly."""
    pieces = _PIECE.findall(word)
    for piece in pieces:
        if is_spaceless(piece):
            yield from _pairs(piece)
            yield piece[-1]  # so that every character begins a segment
        elif _IS_ARABIC.match(piece):
            yield stem(piece)
        elif len(pieces) > 1 or not found:
            yield piece


def _pairs(run: str) -> Iterator[str]:
    return (first + second for first, second in pairwise(run))


def stem(word: str) -> str:
    """Return an Arabic word without its signs, articles and endings, as long as two letters stay."""
    bare = _ARABIC_SIGNS.sub("", word).translate(_ARABIC_LETTERS)
    return _ARABIC_AFTER.sub("", _ARABIC_BEFORE.sub("", bare))
