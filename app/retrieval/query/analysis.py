"""What a language model has made of a query, as far as a search goes by it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.words import normalised
from app.retrieval.query.terms import STOP_WORDS, Term, terms

MAX_SYNONYMS = 16
"""Synonyms that are looked for."""
_MAX_WORDS = 4
"""Words of a synonym: a longer one is a sentence."""


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
    known = {each.text for each in own}
    found: dict[Term, None] = {}
    for synonym in synonyms:
        words = [word for term in terms(normalised(synonym)) for word in term.text.split()]
        text = " ".join(words)
        if 0 < len(words) <= _MAX_WORDS and text not in known and text not in STOP_WORDS:
            found.setdefault(Term(text))
        if len(found) == MAX_SYNONYMS:
            break
    return tuple(found)
