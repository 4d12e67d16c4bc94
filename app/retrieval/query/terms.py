"""Reads the words of a query: the part of it that is read, and the terms that the lexical channel looks for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.words import WORD, is_spaceless, normalised
from app.domain.words import words as searched_words

MAX_READ = 4_000
"""Characters of a query that are read; a longer query is mostly pasted text, and its question comes first or last."""
_GAP = " | "
_LAST_WORD = re.compile(r"(?<=\s)\S{1,64}\Z")
_FIRST_WORD = re.compile(r"\A\S{1,64}(?=\s)")
_HALF = (MAX_READ - len(_GAP)) // 2

MAX_TERMS = 32
"""Terms of one query that are looked for; the first words of a longer query say what it asks for."""

MAX_PHRASE = 16
"""Words of a phrase that are looked for in their order: a phrase costs the database far more than its words alone."""

# A quotation is bounded, so that an opening quote without a closing one is not looked for to the text's end.
_QUOTED = re.compile(
    '"([^"]+)"|\u201c([^\u201d]{1,120})\u201d|\u201e([^\u201c\u201d]{1,120})[\u201c\u201d]|\u300c([^\u300d]{1,120})\u300d'
)
_TOKEN = re.compile(rf"{WORD}(?:[-./:#@'\u2019]+{WORD})*")
_IN_IDENTIFIER = re.compile(r"[\d_@]")
_APOSTROPHE = re.compile("['\u2019]")
_JOINED = re.compile(r"[-_./:#@'\u2019]+")
# An assistant asks about "the user": all memories are the user's, and the query is about something else.
_USER = re.compile("\\bthe users?\\b(?:['\u2019]s?)?|\\busers?['\u2019]s?(?!\\w)", re.IGNORECASE)
_POSSESSIVE = re.compile("['\u2019]s$", re.IGNORECASE)

# Words that say how a sentence is built and not what it is about. Those of other languages are as common in a scope
# of that language, and weigh as little for that; but a function word there may carry meaning here ("war", "fast").
_STOP_WORDS = """
a about after again all also am an and any are as at be because been before being both but by can could did do does
doing down during each few for from further get gets getting got had has have having he her here hers herself him
himself his how i if in into is it its itself just let may me might more most must my myself no nor not now of off
on once only or other our ours ourselves out over own please same shall she should so some such than that the their
theirs them themselves then there these they this those through to too under until up us very was we were what when
where which while who whom whose why will with would you your yours yourself yourselves d ll m re s t ve don didn
doesn isn wasn aren weren won wouldn couldn shouldn hasn haven hadn ain
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or the words of a phrase to be found in this order; ``prefix``: any word that begins with it."""

    text: str
    prefix: bool = False

    @property
    def fts(self) -> str:
        """The term in the syntax of FTS5, quoted so that nothing in the caller's text is read as syntax."""
        return f'"{self.text}"{" *" if self.prefix else ""}'


def clipped(query: str) -> str:
    """Return the part of a query that is read: all of it, or the beginning and the end of a very long query.

    The embedder takes the whole query in any case, in windows.
    """
    if len(query) <= MAX_READ:
        return query
    first, last = query[:_HALF], query[-_HALF:]
    # A word that the cut splits is no word of the query. More than 64 characters without white space are not cut off.
    if not query[_HALF].isspace():
        first = _LAST_WORD.sub("", first)
    if not query[-_HALF - 1].isspace():
        last = _FIRST_WORD.sub("", last)
    return f"{first}{_GAP}{last}"


def terms(query: str) -> tuple[Term, ...]:
    """Return the query's terms, each once, in their order; a query of nothing but stop words has none."""
    found: dict[Term, None] = {}
    for term in _terms(normalised(clipped(query))):
        found.setdefault(term)
        if len(found) == MAX_TERMS:
            break
    return tuple(found)


def _terms(query: str) -> Iterator[Term]:
    start = 0
    for quoted in _QUOTED.finditer(query):
        yield from _of_text(query[start : quoted.start()])
        words = [word for token in _TOKEN.findall(quoted[0]) for word in _words(token)]
        if words:
            yield Term(" ".join(words[:MAX_PHRASE]))
        start = quoted.end()
    yield from _of_text(query[start:])


def _of_text(text: str) -> Iterator[Term]:
    for token in dict.fromkeys(_TOKEN.findall(_USER.sub(" ", text))):  # a term counts once, however often it is written
        words = list(_words(token))
        if len(words) > 1 and _is_identifier(token) and not any(map(is_spaceless, words)):
            yield Term(" ".join(words[:MAX_PHRASE]))
            continue
        for word in words:
            if len(word) == 1 and is_spaceless(word):
                yield Term(word, prefix=True)
            elif word not in STOP_WORDS:
                yield Term(word)


def _is_identifier(token: str) -> bool:
    """Tell whether a token with several words is one identifier: it has a digit, ``_`` or ``@``, and no apostrophe."""
    return _IN_IDENTIFIER.search(token) is not None and _APOSTROPHE.search(token) is None


def _words(token: str) -> Iterator[str]:
    """Give a token's words in lower case; a single letter that an apostrophe leaves over is no word."""
    if token.isascii() and token.isalnum():  # most tokens need no splitting
        yield token.lower()
        return
    parts = [part.lower() for part in _JOINED.split(_POSSESSIVE.sub("", token))]
    for part in parts:
        if len(part) > 1 or ("'" not in token and "\u2019" not in token):
            yield from searched_words(part)
