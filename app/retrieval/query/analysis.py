"""What a language model has made of a query, as far as a search goes by it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.words import WORD, normalised, words
from app.retrieval.query.terms import STOP_WORDS, Term

MAX_SYNONYMS = 16
"""Synonyms that are looked for."""
_MAX_WORDS = 4
"""Words of a synonym: a longer one is a sentence."""
_TOKEN = re.compile(WORD)


@dataclass(frozen=True, slots=True)
class Analysis:
    """Other ways to find what a query asks for. Nothing in it is part of an answer."""

    topics: Sequence[str] = ()
    """Topics of memories that may answer it."""
    synonyms: Sequence[str] = ()
    """Other words for what it asks."""
    statement: str = ""
    """How a memory that answers it may be worded; "" where none is looked for."""


def synonym_terms(synonyms: Iterable[str], own: Sequence[Term]) -> tuple[Term, ...]:
    """Return what is looked for beside a query's ``own`` terms, each once: words, or several in their order."""
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
