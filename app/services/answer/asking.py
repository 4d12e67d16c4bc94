"""Reads a question: its language, its words, the keys and periods that it asks for, and whom it is about."""

import re
from dataclasses import dataclass

from app.retrieval.query.clipping import clipped
from app.retrieval.query.periods import Period, periods
from app.retrieval.query.terms import terms
from app.services.answer.wording import Wording, wording_of
from app.statements.rules import keys_asked
from app.statements.tokens import Tokens, tokens

_READ_FOR_CUES = 500
CUES = ("how_many", "when", "where", "who", "why")
"""What a question may ask for, the surest first: "how long" before "where", because "where" may join clauses."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked."""

    text: str
    wording: Wording
    tokens: Tokens
    terms: tuple[tuple[str, ...], ...]
    """The stems of each word or phrase that is looked for."""
    keys: tuple[str, ...]
    periods: tuple[Period, ...]
    cue: str
    """One of ``CUES``, or "" where the question asks for nothing of the kind."""
    history: bool
    """Whether it asks what held before."""
    addressed: bool
    """Whether it asks what the machine said."""
    of_questions: bool
    """Whether it asks what somebody asked."""


def question(query: str, reference_time: int) -> Question:
    """Read a query that is asked at a moment (ms since the epoch)."""
    text = clipped(query)
    words = tokens(text[:_READ_FOR_CUES])
    wording = wording_of(words)
    phrases = wording.phrases
    history = phrases["history"].within(words)
    # "Where did I live before" asks for the key that "where did I live" asks for.
    keys = (keys_asked(" ".join(phrases["history"].without(words))) if history else []) + keys_asked(text)
    return Question(
        text=text,
        wording=wording,
        tokens=words,
        terms=stems_asked(text, wording),
        keys=tuple(dict.fromkeys(keys)),
        periods=periods(text, reference_time),
        cue=next((cue for cue in CUES if phrases[f"cues.{cue}"].within(words)), ""),
        history=history,
        addressed=phrases["addressed"].within(words),
        of_questions=phrases["asking"].within(words),
    )


def searched(query: str) -> str:
    """Return what is searched for: the query without the adverbs that say only that it asks what held before.

    No memory of what held before has them, so it would look as if it answered a part of the query alone.
    """
    aside = wording_of(tokens(query[:_READ_FOR_CUES])).words["aside"]
    left = re.sub(rf"(?<!\s)\s*\b(?:{'|'.join(sorted(aside))})\b", "", query, flags=re.IGNORECASE).strip()
    return left if terms(left) else query


def stems_asked(text: str, wording: Wording) -> tuple[tuple[str, ...], ...]:
    """Return the stems of the terms that a search looks for, each once, without what the language leaves out."""
    found: dict[tuple[str, ...], None] = {}
    for term in terms(text):
        words = tuple(term.text.split())
        if not (len(words) == 1 and words[0] in wording.words["ignored"] | wording.words["aside"]):
            found.setdefault(tuple(map(wording.stem, words)))
    return tuple(found)
