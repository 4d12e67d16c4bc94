"""Tells what a query asks the value of, where it asks for one that may have changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from app.language.dates.time_words import MONTHS, WEEKDAYS
from app.retrieval.newer.values import UNITS, plain_value
from app.retrieval.newer.wording import FUNCTION_WORDS, codes, is_content, is_word, stem, tokens

_MAX_READ = 400
_MAX_STEMS = 12
_SETTLED_WORDS = """
did was were had why between across different combined order list compare comparison difference summary summarize
summarise change changed changes history previously previous original originally initial initially formerly earlier
before happened progress progressed improvement
"""
_SETTLED = frozenset(_SETTLED_WORDS.split())
"""Words of questions about what was, about several things, or about how one changed: no value replaces another."""
_AMOUNTS = frozenset({"many", "much", "long", "far", "large", "big", "fast", "old", "heavy", "tall", "high", "often"})
ARTICLES = frozenset({"the", "a", "an", "my", "our", "its", "this", "all"})
_PREPOSITIONS = frozenset({"of", "for", "in", "to", "at", "with", "on", "from", "by"})
_LONGEST_NOUN = 3
_DATED = frozenset({"day", "time"})
_COUNTED = frozenset({"number", "share", "money", "size", "length", "mass", "duration"})
_NAMED = frozenset({"name"})
_ANY = _DATED | _COUNTED
_TIME, _SHARE = frozenset({"time"}), frozenset({"share"})
_TOLD = (("when", _DATED), ("deadline", _DATED), ("date", _DATED), ("percentage", _SHARE), ("percent", _SHARE))
"""Words of a query that tell which kind of value it asks for."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What a query asks for."""

    stems: tuple[str, ...]
    """Those of its words of content."""
    kinds: frozenset[str]
    """The kinds of values that answer it."""
    counted: frozenset[str]
    """Of "how many project cards": the stems of what is counted."""
    beside: tuple[tuple[str, str, str], ...]
    """What stands beside a word of the query: the word, a preposition between them or nothing, and the other word."""
    given: frozenset[str]
    """Values that the query itself names, and does not ask for."""
    period: frozenset[str]
    """The months and days of the week that it names."""
    codes: frozenset[str]
    """What it names with digits: "3c", "21", "5.3.0"."""

    @property
    def by_name(self) -> bool:
        """Whether it asks who."""
        return self.kinds is _NAMED

    @property
    def of_any_kind(self) -> bool:
        """Whether it does not tell which kind of value it asks for."""
        return self.kinds is _ANY


def asking(query: str) -> Asking | None:
    """Read a query; None where it asks for no value, or for one that cannot have changed since."""
    words = tokens(query[:_MAX_READ].lower())
    if not _SETTLED.isdisjoint(words):
        return None
    stems = tuple(dict.fromkeys(stem(word) for word in words if is_content(word)))[:_MAX_STEMS]
    kinds, counted = _wanted(words)
    if not stems or not kinds:
        return None
    given = frozenset(value for word in words if (value := plain_value(word)) is not None)
    return Asking(
        stems, kinds, counted, tuple(_beside(words)), given, frozenset(_period(words)), codes(query[:_MAX_READ])
    )


def _wanted(words: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the kinds of values that are asked for, and the stems of what is counted."""
    if words and words[0] == "who":
        return _NAMED, frozenset()
    if "how" not in words:
        kind = next((kind for word, kind in _TOLD if word in words), _ANY)
        return (_TIME if ("what", "time") in pairwise(words) else kind), frozenset()
    rest = words[words.index("how") + 1 :]
    if not rest or rest[0] not in _AMOUNTS:
        return frozenset(), frozenset()
    noun = list(takewhile(_in_noun, rest[1 : 2 + _LONGEST_NOUN])) if rest[0] == "many" else []
    measured = next((UNITS[word] for word in noun if word in UNITS), None)
    if measured is not None:
        return frozenset({measured}), frozenset()
    kinds = frozenset({"number"}) if noun else _COUNTED
    return kinds, frozenset(stem(word) for word in noun if word not in FUNCTION_WORDS)


def _in_noun(word: str) -> bool:
    return is_word(word) and (word not in FUNCTION_WORDS or word == "total")


def _beside(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Give the words of content that stand together, as "search endpoint", or with a preposition between them."""
    last = between = ""
    for word in words:
        if is_content(word):
            if last:
                yield last, between, stem(word)
            last, between = stem(word), ""
        elif word in _PREPOSITIONS and not between:
            between = word
        elif word not in ARTICLES:
            last = between = ""


def _period(words: Sequence[str]) -> Iterator[str]:
    """Give the months and days of the week; "may" is a month after a preposition only."""
    for place, word in enumerate(words):
        is_month = word in MONTHS and (word != "may" or (place and words[place - 1] in _PREPOSITIONS))
        if is_month or word in WEEKDAYS:
            yield word
