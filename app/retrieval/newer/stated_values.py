"""Finds the sentences of a memory that state a value of what a query asks for."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from app.language.dates.time_words import MONTHS, WEEKDAYS
from app.retrieval.newer.asking import ARTICLES, Asking
from app.retrieval.newer.values import NUMBER_WORDS, UNITS, Value, names, values
from app.retrieval.newer.wording import FUNCTION_WORDS, MARKS, is_content, is_word, stem, tokens

MAX_READ = 3000
"""Characters of a memory that are read."""
_MAX_SENTENCE, _MAX_SENTENCES = 600, 24
"""Characters of a sentence, and sentences that have words of the query, that are read."""
_MAX_STATEMENTS = 8
_MAX_TOGETHER = 32
"""Sentences that are read of all candidates."""
_NEAR = 8
"""How many words of content away from a value a word of the query still tells what the value is of."""
_NEAREST = 5
"""So near at least one of them stands."""
_BEFORE, _BEHIND = 8, 4
"""The words around a value that tell who or what it is of, and whether it is settled."""

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ENDS = re.compile(r"[.!?\n](?:(?<=\n)\n*|(?<!\n)\s+)")
"""Begins with a set of characters, for which a text is searched fastest."""
_HAS_VALUE = re.compile(rf"\d|\b(?:{'|'.join([*NUMBER_WORDS, *WEEKDAYS])})\b")
_QUESTION_WORDS = """
can could is are do does did will would should what which who whom whose when where why how has have
"""
_QUESTIONS = frozenset(_QUESTION_WORDS.split())
_UNSETTLED_WORDS = """
goal aim want wants hope hopes plan plans planning planned target need needs if would could should might suppose expect
expects wish unless estimate maybe perhaps example used formerly once
"""
_UNSETTLED = frozenset(_UNSETTLED_WORDS.split())
"""Words before a value by which it is wished, supposed, or of the past."""
_JOINTS = MARKS | {"and", "but", "so", "which", "because"}
_PAST = frozenset({"was", "were"})
_PERSONS = frozenset({"he", "she", "they", "his", "her", "their"})
_ALTERED = frozenset({"new", "updated", "revised", "next", "same", "actual", "final", "current", "latest", "whole"})
_CHANGE_WORDS = """
now new recently lately instead updated extended moved changed raised lowered increased decreased reduced improved grew
grown risen rose fell fallen dropped reached anymore meanwhile today changing revised pushed postponed nu nya jetzt neu
neue neuen
"""
_CHANGES = frozenset(_CHANGE_WORDS.split())


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value, and how near the words of the query stand to it, in words of content."""

    value: Value
    near: Mapping[str, int]
    of_another: bool
    """Whether it is told of "him", "her" or "them"."""
    changed: bool
    """Whether the words around it tell of a change."""


def stated_values(asking: Asking, content: str, read: dict[str, list[StatedValue]]) -> list[StatedValue]:
    """Return what a memory states of what is asked for; the time it takes is linear in what is read.

    ``read`` has the sentences that were read for the query, and what each states: near copies share most of them.
    """
    found: list[StatedValue] = []
    for sentence in islice(_about(asking, prose(content)), _MAX_SENTENCES):
        if sentence not in read and len(read) < _MAX_TOGETHER:
            read[sentence] = list(_stated(asking, tokens(sentence)))
        found += read.get(sentence, ())
        if len(found) >= _MAX_STATEMENTS:
            break
    return found[:_MAX_STATEMENTS]


def prose(content: str) -> str:
    """Return what is read of a memory: its beginning, without code."""
    text = content[:MAX_READ]
    return _FENCED.sub("\n", text) if "```" in text else text


def pieces(text: str) -> Iterator[str]:
    """Give what stands between the ends of lines, and behind the marks that end a sentence."""
    begin = 0
    for end in _ENDS.finditer(text):
        yield text[begin : end.start() + (end[0][0] != "\n")]
        begin = end.end()
    yield text[begin:]


def has(text: str, words: Sequence[str], enough: int) -> bool:
    """Tell whether so many of some words stand in a text."""
    for word in words:
        if enough <= 0:
            break
        enough -= word in text
    return enough <= 0


def _about(asking: Asking, text: str) -> Iterator[str]:
    """Give the sentences that have words of the query, and a value or perhaps a name."""
    enough = min(2, len(asking.stems))
    for sentence in pieces(text) if has(text.lower(), asking.stems, enough) else ():
        lowered = sentence[:_MAX_SENTENCE].lower()
        if has(lowered, asking.stems, enough) and (asking.by_name or _HAS_VALUE.search(lowered)):
            yield sentence[:_MAX_SENTENCE]


def _stated(asking: Asking, written: Sequence[str]) -> Iterator[StatedValue]:
    """Give what a sentence states."""
    words = [word.lower() for word in written]
    if not words or words[0] in _QUESTIONS or _of_another_period(asking, words):
        return
    found = names(written) if asking.by_name else values(words)
    stated = list(islice((each for each in found if each.kind in asking.kinds), _MAX_STATEMENTS))
    if not stated:
        return
    stems = [stem(word) for word in words]
    content = [place for place, word in enumerate(words) if word not in FUNCTION_WORDS and word not in MARKS]
    for value in stated:
        if value.text in asking.given or stems[value.place] in asking.stems or _is_unsettled(asking, words, value):
            continue
        near, span = _near(asking, stems, content, value.place)
        if near and min(near.values()) <= _NEAREST and not _of_something_else(asking, words, stems, value, span):
            here = words[max(0, value.place - _BEFORE) : value.place + _BEHIND]
            yield StatedValue(value, near, not _PERSONS.isdisjoint(here), not _CHANGES.isdisjoint(here))


def _of_another_period(asking: Asking, words: Sequence[str]) -> bool:
    """Tell whether a sentence names another month or day than the query does."""
    if not asking.period or not asking.period.isdisjoint(words):
        return False
    return any(word in MONTHS or word in WEEKDAYS for word in words)


def _near(
    asking: Asking, stems: Sequence[str], content: Sequence[int], place: int
) -> tuple[Mapping[str, int], Sequence[int]]:
    """Return how near the query's words are to a value, and the places of its surroundings."""
    middle = next((n for n, each in enumerate(content) if each >= place), len(content) - 1)
    low, high = max(0, middle - _NEAR), min(len(content) - 1, middle + _NEAR)
    near: dict[str, int] = {}
    for number in range(low, high + 1):
        each = stems[content[number]]
        if each in asking.stems:
            near[each] = min(abs(number - middle), near.get(each, _NEAR))
    return near, range(content[low], content[high] + 1)


def _is_unsettled(asking: Asking, words: Sequence[str], value: Value) -> bool:
    """Tell whether a value is a wish, a supposition, or one of the past; a date that is planned is a date."""
    right_before = True
    for back in range(value.place - 1, max(-1, value.place - 1 - _BEFORE), -1):
        word = words[back]
        if word in _JOINTS:
            return False
        if word in _PAST and right_before:
            return True
        if word in _UNSETTLED and value.kind not in {"day", "time"} and stem(word) not in asking.stems:
            return True
        right_before = right_before and word in FUNCTION_WORDS
    return False


def _of_something_else(
    asking: Asking, words: Sequence[str], stems: Sequence[str], value: Value, span: Sequence[int]
) -> bool:
    """Tell whether the query's "search endpoint" is a "login endpoint" here, or its "flight to Oslo" one to Rome."""
    if not asking.beside:
        return False
    found = (place for place in span if stems[place] in asking.stems)
    nearest_last = sorted(found, key=lambda each: -abs(each - value.place))
    places = {stems[place]: place for place in nearest_last}
    for one, between, other in asking.beside:
        known = places.get(one if between else other)
        if known is None:
            continue
        beside = _after(words, known, between, span[-1]) if between else _before(words, known)
        meant = other if between else one
        if beside and stem(beside) not in asking.stems and not beside.startswith(meant):
            return True
    return False


def _before(words: Sequence[str], place: int) -> str:
    """Return the word of content right before a word, which says of what kind it is; "" without one."""
    word = words[place - 1] if place else ","
    return word if is_content(word) and word not in _ALTERED and word not in UNITS else ""


def _after(words: Sequence[str], place: int, between: str, last: int) -> str:
    """Return the word of content that a preposition puts to a word; "" without one.

    A value between them is passed over: "a dose of 5 mg of ramipril" is a dose of ramipril.
    """
    seen = False
    for word in words[place + 1 : last + 1]:
        if word == between:
            seen = True
        elif word in MARKS or (word in FUNCTION_WORDS and word not in ARTICLES):
            return ""
        elif is_word(word) and word not in ARTICLES and word not in UNITS:
            return word if seen and word not in _ALTERED else ""
    return ""
