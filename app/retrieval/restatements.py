"""Finds the candidates that say the same, so that a recall gives them once (ADR 0088).

Candidates of one wording are found by code. Those that restate each other in other words are found by a reader: code
chooses the pairs that it reads, and refuses a pair of which one tells a number, a time or a name that the other does
not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from app.domain.memory import STORE_KEY
from app.domain.moments import DAY_MS
from app.domain.reading import SURELY_RESTATES, Relation, is_readable
from app.domain.words import normalised
from app.grounding.restating import is_of_its_day, says_all
from app.grounding.source import Source
from app.retrieval.pool import Candidate
from app.retrieval.query.names import WORD
from app.retrieval.query.terms import STOP_WORDS

MAX_PAIRS: Final = 8
"""How many pairs a recall has read."""

_MAX_FIRST = 24
"""Candidates among which pairs are looked for."""
_MAX_CHECKED = 24
"""Pairs, those that share the most words, whose numbers, times and names are compared."""
_STEM = 5
"""Letters by which two words are compared."""
_SURE_OF_SAME_WORDS = 0.5
"""How sure a reader has to be of two texts that differ in words such as "the" alone."""
_EMPTY = frozenset(["a", "an", "the", "am", "is", "are", "be", "do", "does", "has", "have"])
"""Words that say nothing by themselves, in English; "on" and "under", "may" and "must" do."""
_SHARED = 0.5
"""The share of the words of both texts that both have, from which on a pair is looked at."""


@dataclass(frozen=True, slots=True)
class LikelyPair:
    """Two candidates that may restate each other, and how sure a reader has to be of it."""

    one: Candidate
    other: Candidate
    sure: float


def pairs(ranked: Iterable[Candidate], top_k: int) -> Sequence[LikelyPair]:
    """Return the pairs that a reader is to compare, at most ``MAX_PAIRS``, with the most words in common first."""
    first = list(islice(filter(_may_restate, ranked), min(2 * top_k, _MAX_FIRST)))
    words = {candidate.id: _stems(candidate.content) for candidate in first}
    likely = []
    for one, other in combinations(first, 2):
        shared = _shared(words[one.id], words[other.id])
        if shared >= _SHARED and one.folded != other.folded:
            sure = _SURE_OF_SAME_WORDS if _said(one) == _said(other) else SURELY_RESTATES
            likely.append((shared, LikelyPair(one, other, sure)))
    likely.sort(key=lambda pair: pair[0], reverse=True)
    told = (pair for _, pair in likely[:_MAX_CHECKED] if _tell_the_same(pair.one, pair.other))
    return list(islice(told, MAX_PAIRS))


def _stems(text: str) -> Sequence[str]:
    """Return the beginnings of the words that carry a text's meaning, in their order."""
    return [word[:_STEM] for word in WORD.findall(normalised(text).lower()) if word not in STOP_WORDS]


def _said(candidate: Candidate) -> Sequence[str]:
    """Return the words that say something, whole and in their order."""
    return [word for word in WORD.findall(normalised(candidate.content).lower()) if word not in _EMPTY]


def _shared(words: Sequence[str], others: Sequence[str]) -> float:
    """Return the share of the words of two texts that both have."""
    return len(set(words) & set(others)) / (len({*words, *others}) or 1)


def both_ways(pairs: Sequence[LikelyPair]) -> Sequence[tuple[str, str]]:
    """Return what a reader is asked of pairs: each pair, and then each pair turned round."""
    texts = [(pair.one.content, pair.other.content) for pair in pairs]
    return [*texts, *((other, one) for one, other in texts)]


def confirmed(pairs: Sequence[LikelyPair], answers: Sequence[Relation]) -> Sequence[tuple[Candidate, Candidate]]:
    """Return the pairs of which each text restates the other, by a reader's answers to ``both_ways``."""
    half = len(pairs)
    return [
        (pair.one, pair.other)
        for pair, one, other in zip(pairs, answers[:half], answers[half:], strict=True)
        if min(one.restates, other.restates) >= pair.sure
    ]


def _may_restate(candidate: Candidate) -> bool:
    """Tell whether a candidate is one short sentence, which a reader reads whole, and no row of a program."""
    statement = candidate.statement
    return (
        candidate.holds
        and STORE_KEY not in candidate.metadata_json
        and not statement.is_fact
        and statement.is_one
        and is_readable(candidate.content)
    )


def _tell_the_same(one: Candidate, other: Candidate) -> bool:
    """Tell whether two candidates are told by one speaker and have the same numbers, times, names and quotations."""
    if one.told_by != other.told_by:
        return False
    is_one_day = one.happened_at // DAY_MS == other.happened_at // DAY_MS
    if not is_one_day and any(is_of_its_day(candidate.content) for candidate in (one, other)):
        return False
    sources = [Source(_uncapitalised(each.content), each.happened_at, each.statement.speaker) for each in (one, other)]
    return says_all(*sources) and says_all(*reversed(sources))


def _uncapitalised(text: str) -> str:
    """Return a text whose first word, if it is a function word, has no capital that looks like a name's."""
    first = text.split(maxsplit=1)[:1]
    return text[:1].lower() + text[1:] if first and first[0].lower() in STOP_WORDS else text
