"""Chooses the sentences that answer a question best."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.services.answer import cues
from app.services.answer.asking import Question
from app.services.answer.holding import Stated
from app.services.answer.reading import Said
from app.statements.tokens import tokens

SHORTLIST = 8
"""Sentences whose statements are read: that costs more than all else."""

_ENTRY = 0.8
_KEY = 1.2
_LATER_KEY = 0.8
_CUE = 0.2
_PERIOD = 0.4
_USER = 0.1
_NEIGHBOUR = 0.3
_MACHINE = 0.4
_QUESTION = 1.0
_HEADING = 0.4
_SHORT = 0.15
_OTHERS = 0.5
_MIN_WORDS = 3
_BEST_SHARE = 0.6
_OWN_SHARE = 0.5
_BEGINNING = 100
_LEADING = 2
_NOUN = 2
_SIMILAR = 0.7
"""Two sentences that share so much of their words are copies."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A sentence and how well it answers."""

    said: Said
    weight: float

    @property
    def own(self) -> float:
        """What the sentence has of its own: its weight without what its memory adds."""
        return self.weight - _ENTRY * self.said.origin.score


def shortlisted(sentences: Sequence[Said], question: Question) -> list[Choice]:
    """Return the best sentences by their words, their memory and their speaker, the best first."""
    covered = _covered(sentences, _met(sentences, question))
    found: dict[str, Choice] = {}
    for choice in _ordered(
        Choice(said, words + _ENTRY * said.origin.score + _by_speaker(said, question) - _emptiness(said))
        for said, words in zip(sentences, covered, strict=True)
    ):
        found.setdefault(choice.said.text, choice)
        if len(found) == SHORTLIST:
            break
    return list(found.values())


def weighed(choices: Iterable[Choice], stated: Stated, question: Question) -> list[Choice]:
    """Return the choices with what their statements, times and contents add, the best first."""
    found = []
    for choice in choices:
        said, statement = choice.said, stated[choice.said]
        weight = choice.weight + _PERIOD * _is_of_period(said, question)
        if statement and statement.key in question.keys:
            weight += _KEY if statement.key == question.keys[0] else _LATER_KEY
        if cues.answers(question.cue, said.text, question.wording):
            weight += _CUE
        if _is_of_another(said, question):
            weight -= _OTHERS
        found.append(Choice(said, weight))
    return _ordered(found)


def answering(choices: Iterable[Choice]) -> list[Choice]:
    """Return the choices that answer too, without near copies: the best, and what comes near it.

    A sentence of a memory that has answered already has to come near it without what the memory adds.
    """
    kept: list[Choice] = []
    for choice in distinct(choices):
        told = any(choice.said.origin.memory_id == other.said.origin.memory_id for other in kept)
        near = choice.own >= _OWN_SHARE * max(kept[0].own, 0.0) if told else True
        if not kept or (choice.weight >= _BEST_SHARE * kept[0].weight and near):
            kept.append(choice)
    return kept


def distinct(choices: Iterable[Choice]) -> list[Choice]:
    """Return the choices without near copies of better ones; two numbers make two sentences."""
    kept: list[Choice] = []
    for choice in choices:
        if not any(_are_alike(choice.said, other.said) for other in kept):
            kept.append(choice)
    return kept


def _ordered(choices: Iterable[Choice]) -> list[Choice]:
    return sorted(choices, key=lambda choice: (-round(choice.weight, 9), *choice.said.order))


def _met(sentences: Sequence[Said], question: Question) -> list[float]:
    """Return of each sentence the share of the question's terms that stand in it, by weight.

    A term that is in few of the sentences weighs more. One that is in none of them weighs nothing.
    """
    wanted = frozenset(stem for term in question.terms for stem in term)
    words = [said.words & wanted for said in sentences]
    counts = Counter(term for each in words if each for term in question.terms if each.issuperset(term))
    if len(counts) < len(question.terms):  # who is named may speak and not be spoken of
        called = Counter(term for said in sentences for term in question.terms if said.origin.called.issuperset(term))
        counts = Counter(dict(called) | dict(counts))
    weights = {term: math.log(1 + len(sentences) / (count + 0.5)) for term, count in sorted(counts.items())}
    whole = math.fsum(weights.values()) or 1.0
    shares: dict[frozenset[str], float] = {}
    met = []
    for said, each in zip(sentences, words, strict=True):
        held = each | (said.origin.called & wanted)
        if held not in shares:
            shares[held] = math.fsum(weight for term, weight in weights.items() if held.issuperset(term)) / whole
        met.append(shares[held])
    return met


def _covered(sentences: Sequence[Said], met: Sequence[float]) -> list[float]:
    """Return what sentences cover of the question, with a share of what the better one beside them covers more."""
    covered = list(met)
    for place, share in enumerate(met):
        if share:
            for near in (place - 1, place + 1):
                if 0 <= near < len(met) and sentences[near].origin is sentences[place].origin:
                    covered[near] = max(covered[near], met[near] + _NEIGHBOUR * (share - met[near]))
    return covered


def _by_speaker(said: Said, question: Question) -> float:
    """Return what the speaker adds: what a machine says counts where the machine is asked about."""
    if said.origin.by_machine:
        return _MACHINE if question.addressed else -_MACHINE
    return _USER if said.origin.speaker.casefold() in {"user", "human"} and not question.addressed else 0.0


def _emptiness(said: Said) -> float:
    """Return what to take from a heading and from a few words."""
    heading = _HEADING if said.text.endswith(":") else 0.0
    return heading + (_SHORT if len(said.text.split()) < _MIN_WORDS else 0.0)


def _is_of_period(said: Said, question: Question) -> bool:
    readings = (reading for period in question.periods for reading in period.readings[:1])
    return any(start <= said.origin.happened_at < end for start, end in readings)


def _is_of_another(said: Said, question: Question) -> bool:
    """Tell whether a sentence begins with a thing that is not asked about: "My sister", for "Where do I live"."""
    words, wording = tokens(said.text[:_BEGINNING]), question.wording
    asked = {stem for term in question.terms for stem in term}
    for place in range(min(len(words) - 1, _LEADING)):
        length = wording.phrases["possessives"].at(words, place)
        if length:
            after = [wording.stem(word) for word in words[place + length :][:_NOUN]]
            return bool(after) and asked.isdisjoint(after)
    return False


def _are_alike(said: Said, other: Said) -> bool:
    numbers, others = ({word for word in each.words if word[:1].isdigit()} for each in (said, other))
    shared, either = len(said.words & other.words), len(said.words | other.words)
    return said.text == other.text or (numbers == others and shared >= _SIMILAR * either)
