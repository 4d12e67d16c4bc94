"""Names in a query: they say who is meant, which words tell better than an embedding does."""

import re

from app.retrieval.pool import Candidate
from app.retrieval.query.terms import STOP_WORDS

_WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"(?<=\s)[A-Z]\w*(?:['\u2019]s)?\b")
_POSSESSIVE = re.compile("['\u2019]s$")
_SPEAKER = re.compile(r"\s*([^\s:,.!?][^:\n,.!?]{0,39}):\s")
_FIRST_PERSON = frozenset({"i", "me", "my", "mine", "myself"})
_USERS = frozenset({"user", "human"})
_NAME_WORDS = 3
_LEFT = 2


def without_names(query: str) -> str:
    """Return what of the query is to be embedded: without the names inside it, where enough else is left.

    In short texts a name outweighs everything else in the embedding, and finds whatever mentions it. Only English
    sentences are cut, whose other words are not capitalised: those with as many function words as other ones.
    """
    words = _WORD.findall(query)
    plain = [word for word in words if word.islower() or word.lower() in STOP_WORDS]
    functions = sum(word.lower() in STOP_WORDS for word in plain)
    if not functions or 2 * functions < len(plain):
        return query
    cut = " ".join(_NAME.sub(_unless_function, query).split())
    left = {word.lower() for word in _WORD.findall(cut)} - STOP_WORDS
    return cut if len(left) >= _LEFT else query


def _unless_function(name: re.Match[str]) -> str:
    return name[0] if _POSSESSIVE.sub("", name[0]).lower() in STOP_WORDS else ""


def named(query: str) -> frozenset[str]:
    """Return the words by which a query may name a speaker."""
    return frozenset(word.lower() for word in _WORD.findall(query))


def speaks(candidate: Candidate, named: frozenset[str]) -> bool:
    """Tell whether who speaks in a memory is named in the query; "I" and "my" name the user.

    Who speaks is what metadata has as ``speaker``, else what stands before a colon at the content's beginning.
    """
    speaker = _speaker(candidate)
    words = _WORD.findall(speaker.lower())
    if not 0 < len(words) <= _NAME_WORDS:
        return False
    if words[0] in _USERS:
        return bool(named & _FIRST_PERSON)
    return words[0] in named


def _speaker(candidate: Candidate) -> str:
    if '"speaker"' in candidate.metadata_json:
        speaker = candidate.metadata.get("speaker")
        if isinstance(speaker, str):
            return speaker
    match = _SPEAKER.match(candidate.content)
    return "" if match is None else match[1]
