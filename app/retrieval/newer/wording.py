"""Splits text into words and gives them a form in which "merged", "merges" and "merging" are one."""

import re
from functools import lru_cache

from app.retrieval.query.terms import STOP_WORDS

_TOKEN = re.compile(r"[$€£]?\d(?:[\d.,:/-]*\d)?(?:%|[^\W\d_]{1,9}\b)?|[^\W\d_](?:['\u2019_-]?[^\W_])*|[,;:()]")
"""A number with its sign and unit, a word, or a mark that divides a sentence."""

_CODE = re.compile(r"\b[^\W\d]*\d\w*")

_EMPTY = """
please current currently latest newest recent recently total now often new still tell already get gets ever many much
long far large big high old fast heavy tall small since per via within
der die das den dem ein eine ist und wir wie viele wann was hat haben är en ett det och vi hur många när vad har
"""
FUNCTION_WORDS = STOP_WORDS | frozenset(_EMPTY.split())
"""Words that say nothing of what a question or a statement is about."""

MARKS = frozenset(",;:()")

_KEPT = 3
"""Letters of a word that stay."""


def tokens(text: str) -> list[str]:
    """Split a text into numbers, words and marks."""
    return _TOKEN.findall(text)


def codes(text: str) -> frozenset[str]:
    """Return what is written with digits in a text, in lower case."""
    return frozenset(_CODE.findall(text.lower()))


def is_word(token: str) -> bool:
    """Tell whether a token is a word, and neither a number nor a mark."""
    return token[0].isalpha()


def is_content(token: str) -> bool:
    """Tell whether a token is a word that says what a text is about."""
    return token[0].isalpha() and token not in FUNCTION_WORDS


@lru_cache(4096)
def stem(word: str) -> str:
    """Take the usual English endings off a word, always the same, so that forms of one word compare equal."""
    if len(word) <= _KEPT:
        return word
    if word[-2] in "'\u2019" and word[-1] == "s":
        word = word[:-2]
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word[-1] == "s" and not word.endswith("ss"):
        word = word[:-1]
    for ending in ("ing", "ed", "e"):
        if word.endswith(ending) and len(word) >= len(ending) + _KEPT:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > _KEPT and word[-1] == word[-2] else word
