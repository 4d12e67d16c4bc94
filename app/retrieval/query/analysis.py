"""A language model's analysis of a query, as far as a search uses it."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.words import WORD, normalised, words
from app.retrieval.query.terms import STOP_WORDS, Term

MAX_SYNONYMS = 16
"""Synonyms that are looked for."""
_MAX_WORDS = 4
"""The most words of a synonym: a longer one is a sentence."""
_TOKEN = re.compile(WORD)


@dataclass(frozen=True, slots=True)
class Analysis:
    """Other ways to find what a query asks for. Nothing of an analysis is part of an answer."""

    topics: Sequence[str] = ()
    """Topics of memories that may answer the query."""
    synonyms: Sequence[str] = ()
    """Other words for the query's words."""
    statement: str = ""
    """A text as a memory that answers the query may have it; "" where no such text is compared with memories."""


@dataclass(frozen=True, slots=True)
class PendingAnalysis:
    """A language model's analysis of a query, under way."""

    analysis: "asyncio.Task[Analysis | None]"
    """The task ends in time, and raises nothing; its result is None where the model gave no useful analysis."""
    ends: float
    """The time until which a recall waits for the hits of the analysis' statement, by the clock of the event loop."""


def synonym_terms(synonyms: Iterable[str], own: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms of synonyms that are not among a query's ``own`` terms, each once: words or phrases."""
    known = {term.text for term in own}
    terms: dict[Term, None] = {}
    for synonym in synonyms:
        tokens = [word for token in _TOKEN.findall(normalised(synonym).lower()) for word in words(token)]
        text = " ".join(tokens)
        if 0 < len(tokens) <= _MAX_WORDS and text not in known and text not in STOP_WORDS:
            terms.setdefault(Term(text))
        if len(terms) == MAX_SYNONYMS:
            break
    return tuple(terms)
