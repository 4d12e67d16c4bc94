"""What was found of the evidence of questions: by turns and sessions, any, all, how much, how high."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2

import numpy as np

from app.interfaces.cli.evaluation.dataset import SetConversation, SetQuestion
from app.interfaces.cli.evaluation.intervals import RESAMPLES, Estimate, estimates, resampled

MEASURES = ("any", "all", "recall", "ndcg")
UNITS = ("turn", "session")


@dataclass(frozen=True, slots=True)
class FoundTurns:
    """A question, and the turns that its recall found, best first."""

    conversation: SetConversation
    question: SetQuestion
    turns: Sequence[str]


@dataclass(frozen=True, slots=True)
class UnitFigures:
    """The figures of one unit, turns or sessions."""

    questions: int
    at: Mapping[int, Mapping[str, Estimate]] = field(default_factory=dict)
    """By how many are counted, each of ``MEASURES``."""


@dataclass(frozen=True, slots=True)
class ChangedFacts:
    """Of the questions whose answer has changed: how many the newest statement answers."""

    questions: int
    first: Estimate
    """The newest statement is the first entry."""
    ahead: Estimate
    """The newest statement comes before all older ones, wherever it is."""


@dataclass(frozen=True, slots=True)
class SetFigures:
    """All figures of a set."""

    units: Mapping[str, UnitFigures]
    categories: Mapping[str, UnitFigures]
    """By category of questions, the figures of turns."""
    changed: ChangedFacts | None


def set_figures(found: Sequence[FoundTurns], at: Sequence[int]) -> SetFigures:
    """Count what was found of questions that have evidence, among the first of each of ``at``."""
    by_turn = [one for one in found if one.question.gold]
    by_session = [one for one in found if one.conversation.sessions and _sessions(one)]
    units = {"turn": _figures(by_turn, at, _turn_places), "session": _figures(by_session, at, _session_places)}
    names = sorted({one.question.category for one in by_turn})
    categories = {
        name: _figures([one for one in by_turn if one.question.category == name], at, _turn_places) for name in names
    }
    return SetFigures({name: of for name, of in units.items() if of.questions}, categories, _changed(found))


def evidence_figures(gold: Collection[str], ranked: Sequence[str], k: int) -> tuple[float, float, float, float]:
    """Return ``MEASURES`` for one question: whether any and all of the evidence is found, its share, and its gain.

    The gain is that of LongMemEval's and RealMem's scripts: the first two places count alike, later ones less.
    """
    places = [place for place, each in enumerate(ranked[:k]) if each in gold]
    gain = sum(map(_discount, places)) / sum(map(_discount, range(min(len(gold), k))))
    return float(bool(places)), float(len(places) == len(gold)), len(places) / len(gold), gain


def _discount(place: int) -> float:
    return 1.0 if place == 0 else 1 / log2(place + 1)


Places = Callable[[FoundTurns], tuple[Collection[str], Sequence[str]]]


def _turn_places(one: FoundTurns) -> tuple[Collection[str], Sequence[str]]:
    return one.question.gold, one.turns


def _session_places(one: FoundTurns) -> tuple[Collection[str], Sequence[str]]:
    """Return the sessions that hold the answer, and those of the turns that were found, in their order, each once."""
    of = one.conversation.sessions
    return _sessions(one), list(dict.fromkeys(of.get(turn, turn) for turn in one.turns))


def _sessions(one: FoundTurns) -> frozenset[str]:
    of = one.conversation.sessions
    return one.question.sessions or frozenset(of.get(turn, turn) for turn in one.question.gold)


def _figures(found: Sequence[FoundTurns], at: Sequence[int], places: Places) -> UnitFigures:
    if not found:
        return UnitFigures(0)
    rows = [[figure for k in at for figure in evidence_figures(*places(one), k)] for one in found]
    means = _means(found, rows)
    width = len(MEASURES)
    return UnitFigures(
        len(found),
        {k: dict(zip(MEASURES, means[n * width : (n + 1) * width], strict=True)) for n, k in enumerate(at)},
    )


def _changed(found: Sequence[FoundTurns]) -> ChangedFacts | None:
    changed = [one for one in found if len(one.question.stated) > 1]
    if not changed:
        return None
    rows = []
    for one in changed:
        newest = one.question.stated[-1]
        stated = [turn for turn in one.turns if turn in one.question.stated]
        rows.append([float(list(one.turns[:1]) == [newest]), float(stated[:1] == [newest])])
    first, ahead = _means(changed, rows)
    return ChangedFacts(len(changed), first, ahead)


def _means(found: Sequence[FoundTurns], rows: Sequence[Sequence[float]]) -> list[Estimate]:
    drawn = resampled([one.conversation.conv_id for one in found], resamples=RESAMPLES)
    return estimates(np.asarray(rows, float), drawn)
