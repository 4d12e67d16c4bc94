"""Names in a query: the words of a memory tell who is meant better than its embedding does."""

import re

from app.retrieval.query.clipping import MAX_READ
from app.retrieval.query.terms import STOP_WORDS

WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"(?<=\s)[A-Z]\w*(?:['\u2019]s)?\b")
_POSSESSIVE = re.compile("['\u2019]s$")
_LEFT = 2


def without_names(query: str) -> str:
    """Return what of the query is to be embedded: without the names inside it, where enough else is left.

    In short texts a name outweighs everything else in the embedding, and finds whatever mentions it. Only English
    sentences are cut, whose other words are not capitalised: those with as many function words as other ones. A very
    long query is no sentence.
    """
    if len(query) > MAX_READ:
        return query
    words = WORD.findall(query)
    plain = [word for word in words if word.islower() or word.lower() in STOP_WORDS]
    functions = sum(word.lower() in STOP_WORDS for word in plain)
    if not functions or 2 * functions < len(plain):
        return query
    cut = " ".join(_NAME.sub(_unless_function, query).split())
    left = {word.lower() for word in WORD.findall(cut)} - STOP_WORDS
    return cut if len(left) >= _LEFT else query


def _unless_function(name: re.Match[str]) -> str:
    return name[0] if _POSSESSIVE.sub("", name[0]).lower() in STOP_WORDS else ""
