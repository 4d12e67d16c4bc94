"""Judges an answer by code: whether it says what a right one says, and how much of the evidence was found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.services.golden.judging import says_one_of
from bench.evaluation.labelled import Labelled

EVIDENCE_AMONG = 10
"""The evidence is counted among so many candidates."""


@dataclass(frozen=True, slots=True)
class Judged:
    """How one question came off in one run."""

    question: str
    """The conversation's id and the question's."""
    category: str
    evidence: float | None
    """The share of the evidence among the candidates, 0 to 1; None where nothing answers the question."""
    right: bool | None
    """Whether the answer says what is expected, or rightly says nothing; None where that is not labelled."""
    answered: bool
    degraded: bool
    seconds: float


def says(answer: str, expected: Sequence[Sequence[str]]) -> bool:
    """Tell whether an answer has one alternative of each that is expected, as words of their own."""
    return all(says_one_of(answer, alternatives) for alternatives in expected)


def is_right(labelled: Labelled, answer: str) -> bool | None:
    """Tell whether an answer is right; where nothing answers the question, only "" is. None: that is not labelled."""
    if not labelled.gold:
        return not answer
    return says(answer, labelled.expected) if labelled.expected else None


def evidence(gold: Collection[str], found: Sequence[Collection[str]]) -> float | None:
    """Return the share of the evidence among what candidates come from; None where there is none to be found."""
    if not gold:
        return None
    seen = {turn for turns in found[:EVIDENCE_AMONG] for turn in turns}
    return len(seen & set(gold)) / len(gold)
