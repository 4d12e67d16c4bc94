"""Reads a question: its language, its words, and what it is about."""

from dataclasses import dataclass

from app.language.tokens import Tokens, tokens
from app.retrieval.query.clipping import clipped
from app.retrieval.query.terms import terms
from app.services.answer.wording import Wording, wording_of

_MAX_READ = 500


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked."""

    wording: Wording
    tokens: Tokens
    stems: frozenset[str]
    """Those of the words that a search looks for."""


def question(query: str) -> Question:
    """Read a query."""
    text = clipped(query)
    words = tokens(text[:_MAX_READ])
    wording = wording_of(words)
    return Question(wording, words, frozenset(stem for term in stems_asked(text, wording) for stem in term))


def stems_asked(text: str, wording: Wording) -> tuple[tuple[str, ...], ...]:
    """Return the stems of the terms that a search looks for, each once, without what the language leaves out."""
    found: dict[tuple[str, ...], None] = {}
    for term in terms(text):
        words = tuple(term.text.split())
        if not (len(words) == 1 and words[0] in wording.words["ignored"]):
            found.setdefault(tuple(map(wording.stem, words)))
    return tuple(found)
