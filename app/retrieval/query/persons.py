"""Words the first person of a query as facts do: a fact speaks of "the user", and the user asks about "me"."""

import re

from app.retrieval.query.names import WORD
from app.retrieval.query.terms import MAX_READ, STOP_WORDS

_FIRST = frozenset({"i", "me", "my", "mine", "myself"})
_FORMS = (
    (re.compile(r"\bI(?:['\u2019]| a)m\b"), "the user is"),
    (re.compile(r"\b[Aa]m I\b"), "is the user"),
    (re.compile(r"\b(?:[Mm]y|[Mm]ine)\b"), "the user's"),
    (re.compile(r"\b(?:[Mm]e|[Mm]yself)\b"), "the user"),
    # The I of "World War I" and of "Phase I." is a number and stays.
    (re.compile(r"(?<!\bWar )\bI\b(?=['\u2019]|\s+[a-z])"), "the user"),
)
_LEFT = 2


def of_the_user(query: str) -> str:
    """Return an English query with "the user" in place of "I", "me" and "my", as facts call the user.

    A query with fewer than two other English function words is no English sentence, and stays as it is.
    """
    words = [word.lower() for word in WORD.findall(query[:MAX_READ])]
    functions = sum(word in STOP_WORDS and word not in _FIRST for word in words)
    if len(query) > MAX_READ or functions < _LEFT:
        return query
    for form, replacement in _FORMS:
        query = form.sub(replacement, query)
    return query
