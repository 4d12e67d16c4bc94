"""Takes names out of the embedded text: a memory's words tell better than its embedding which person a query names."""

import re
from collections.abc import Collection

from app.retrieval.query.terms import MAX_READ, STOP_WORDS

WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"(?<=\s)[A-Z]\w*(?:['\u2019]s)?\b")
_POSSESSIVE = re.compile("['\u2019]s$")
_LEFT = 2


def without_speakers(query: str, speakers: Collection[str]) -> str:
    """Return the query's text to embed: without the names of speakers inside it, where enough other words are left.

    In a short text a name outweighs everything else in the embedding, and finds every memory that mentions it. The
    speaker channel (``app/retrieval/channels/speaker.py``) finds a scope's speakers by words; another name is what a
    query is about, and stays. Only English sentences are cut, whose other words are not capitalised: texts with as many
    function words as other words. A very long query is no sentence. ``speakers`` are first names in lower case.
    """
    if not speakers or len(query) > MAX_READ:
        return query
    words = WORD.findall(query)
    plain = [word for word in words if word.islower() or word.lower() in STOP_WORDS]
    functions = sum(word.lower() in STOP_WORDS for word in plain)
    if not functions or 2 * functions < len(plain):
        return query
    cut = " ".join(_NAME.sub(lambda name: "" if _bare(name[0]) in speakers else name[0], query).split())
    left = {word.lower() for word in WORD.findall(cut)} - STOP_WORDS
    return cut if len(left) >= _LEFT else query


def _bare(name: str) -> str:
    return _POSSESSIVE.sub("", name).lower()
