"""Refuses texts that can be no memory: a text that is too long, a template, the prompt itself."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from app.domain.words import WORD, folded
from app.services.models.request import prompts

Words: TypeAlias = tuple[str, ...]

MAX_CONTENT = 1_000
"""Characters of a memory that is learned."""
REPEATED_WORDS = 8
"""A text that shares this many words in a row with a prompt repeats it; so does a shorter text that stands in it."""
_FEWEST_WORDS = 3
_WORD = re.compile(WORD)
_FENCE = ("<<<", ">>>")
_TEMPLATE = re.compile(r"\{[^{}]*\}|\{\{|\}\}|<[A-Z_]+>|\[[A-Z_]{3,}\]")
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))
_JOINERS = frozenset("\u200c\u200d")
"""Joiners are part of words in some scripts, and of emoji."""


def one_line(text: str) -> str:
    """Return a text with single spaces between its words and without invisible characters."""
    seen = "".join(
        letter
        for letter in text
        if letter.isspace() or letter in _JOINERS or unicodedata.category(letter) not in _UNSEEN
    )
    return " ".join(seen.split())


def whats_wrong(content: str, sources: Sequence[str]) -> str:
    """Return why a model's text can be no memory of the texts that it comes from; "" where the text may be a memory."""
    if not any(letter.isalpha() for letter in content):
        return "It says nothing."
    if len(content) > MAX_CONTENT:
        return f"It is longer than {MAX_CONTENT} characters."
    if any(mark in content for mark in _FENCE):
        return "It holds the fence of the prompt."
    if any(not any(each in source for source in sources) for each in _TEMPLATE.findall(content)):
        return "It holds a template that was not filled in."
    if _repeats_a_prompt(content):
        return "It repeats the prompt."
    return ""


def words_of(text: str) -> Words:
    """Return the words of a text, folded."""
    return tuple(_WORD.findall(folded(text)))


def _repeats_a_prompt(content: str) -> bool:
    words = words_of(content)
    size = min(len(words), REPEATED_WORDS)
    return size >= _FEWEST_WORDS and not _runs(words, size).isdisjoint(_runs_of_prompts(size))


@cache
def _runs_of_prompts(size: int) -> frozenset[Words]:
    return frozenset(run for text in prompts() for run in _runs(words_of(text), size))


def _runs(words: Words, size: int) -> frozenset[Words]:
    return frozenset(words[begin : begin + size] for begin in range(len(words) - size + 1))
