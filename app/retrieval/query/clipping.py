"""How much of a query is read for words and periods."""

import re

MAX_READ = 4_000
"""Characters of a query that are read; a longer one is mostly pasted text, and says what it asks first or last."""
_GAP = " | "
_LAST_WORD = re.compile(r"(?<=\s)\S{1,64}\Z")
_FIRST_WORD = re.compile(r"\A\S{1,64}(?=\s)")
_HALF = (MAX_READ - len(_GAP)) // 2


def clipped(query: str) -> str:
    """Return what is read of a query: all of it, or the beginning and the end of a very long one.

    The embedder takes all of it in any case, in windows.
    """
    if len(query) <= MAX_READ:
        return query
    first, last = query[:_HALF], query[-_HALF:]
    # A word that is cut through is none of the query's; what has no white space for so long is no such word.
    if not query[_HALF].isspace():
        first = _LAST_WORD.sub("", first)
    if not query[-_HALF - 1].isspace():
        last = _FIRST_WORD.sub("", last)
    return f"{first}{_GAP}{last}"
