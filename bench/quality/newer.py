"""Whether what holds now comes before what no longer does."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.quality.asking import Asked

FIRST = 5
"""Entries among which an outdated one misleads: as many as a recall returns unless told."""


@dataclass(frozen=True, slots=True)
class Newer:
    """How questions whose answer has changed came off."""

    questions: int
    newer_first: int
    """Of so many the turn that holds comes before all others that state the answer."""
    outdated_left: int
    """For so many an outdated turn is among the first entries."""


def newer(asked: Sequence[Asked]) -> Newer | None:
    """Count them; None where no answer has changed."""
    changed = [one for one in asked if one.question.stated and not one.foreign]
    if not changed:
        return None
    return Newer(len(changed), sum(map(_newer_first, changed)), sum(map(_outdated_left, changed)))


def _newer_first(asked: Asked) -> bool:
    stated = asked.question.stated
    return next((turn for turn in asked.answer.turn_ids if turn in stated), None) == stated[-1]


def _outdated_left(asked: Asked) -> bool:
    return not set(asked.question.stated[:-1]).isdisjoint(asked.answer.turn_ids[:FIRST])
