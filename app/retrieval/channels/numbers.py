"""The numbers channel: scores memories of the thing that a query names by a number ("server 2", not "server 3")."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery

_MAX_READ = 3000
"""Characters of a memory that are read."""
_MAX_ASKED, _MAX_LISTED = 8, 16
"""Things of a query, and numbers of one list, that are read."""
_ROOT = 2
"""Letters with which all forms of a noun begin."""
_ENDING = 3
"""Letters by which the forms of a noun may differ in length: "server", "servers"."""

_NUMBER = r"\d\w*(?:[.:-]\w+)*"
_LISTED = re.compile(rf"(?<![ \t])[ \t]*+[,/&+][ \t]*+({_NUMBER})")
_BEHIND = re.compile(rf"(?<!\w)([^\W\d_]{{2,}}+)(?:[ \t][^\W\d_]{{1,3}}\.)?[ \t#(-]{{1,4}}({_NUMBER})")
"""A number behind a noun: "server 2", "room no. 4", "model-1", "ticket #12"."""
_ORDINAL = re.compile(r"(?<![\w.,])(\d{1,9})(?:[^\W\d_]{1,2}|[.:][^\W\d_]{0,2})[ \t]([^\W\d_]{2,})")
"""A number with an ending or a dot, before a noun: "the 2nd floor", "im 2. Stock"."""


class Numbers(Channel):
    """Scores candidates that have the query's numbers beside the same nouns.

    The lexical channel ignores where a number stands: a memory of server 3 that has "phase 2" in it has both words of
    "server 2".
    """

    name = "numbers"
    cue = "numbers"

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return for each candidate the share of the numbers asked for that stand beside the same nouns in it."""
        words = {word for term in query.terms for word in term.text.split()}
        asked = dict.fromkeys(
            islice((thing for thing in numbered(query.text.lower()) if thing[0] in words), _MAX_ASKED)
        )
        if not asked:
            return {}
        texts = {id_: each.content[:_MAX_READ].lower() for id_, each in pool.candidates.items() if each.whole}
        counts = {id_: _count(texts[id_], things) for id_, things in _likely(texts, asked).items()}
        return {id_: count / len(asked) for id_, count in counts.items() if count}


def _likely(texts: Mapping[str, str], asked: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return which of the things asked for each text may have, by its id.

    Most texts lack the numbers: looking for these first costs much less than looking for numbered nouns.
    """
    likely: dict[str, list[tuple[str, str]]] = {}
    for thing in asked:
        root, number = thing[0][:_ROOT], thing[1]
        for id_ in [id_ for id_, text in texts.items() if number in text and root in text]:
            likely.setdefault(id_, []).append(thing)
    return likely


def numbered(text: str) -> Iterator[tuple[str, str]]:
    """Give each noun of a text in lower case with each number beside it: "servers 2, 3" gives two pairs."""
    for named in _BEHIND.finditer(text):
        number: re.Match[str] | None = named
        for _ in range(_MAX_LISTED):
            if number is None:
                break
            yield named[1], number[number.lastindex or 0]
            number = _LISTED.match(text, number.end())
    for ordinal in _ORDINAL.finditer(text):
        yield ordinal[2], ordinal[1]


def _count(text: str, asked: Iterable[tuple[str, str]]) -> int:
    """Return how many of the things asked for are in a text."""
    named = set(numbered(text))
    return sum(any(_is_of(thing, wanted) for thing in named) for wanted in asked)


def _is_of(named: tuple[str, str], asked: tuple[str, str]) -> bool:
    """Tell whether a thing is the one asked for or a part of it: Python 3.12 is of Python 3, but not 30 and not 3c."""
    (noun, number), (its_noun, its_number) = named, asked
    if not number.startswith(its_number) or number[len(its_number) :][:1].isalnum():
        return False
    short, long = sorted((noun, its_noun), key=len)
    return long.startswith(short) and len(long) - len(short) <= _ENDING
