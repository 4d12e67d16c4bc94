"""What several runs of one or two sides came to: mean and spread by category, and the difference of two sides."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, pstdev

import numpy as np

from bench.evaluation.judging import EVIDENCE_AMONG, Judged
from bench.evaluation.measuring import EvaluationRun

ALL = "all"
_RESAMPLES = 2_000
_SEED = 0
_Figure = Callable[[Judged], float | None]
FIGURES: Mapping[str, _Figure] = {
    f"evidence@{EVIDENCE_AMONG}": lambda one: one.evidence,
    "right": lambda one: None if one.right is None else float(one.right),
    "answered": lambda one: float(one.answered),
    "degraded": lambda one: float(one.degraded),
    "seconds": lambda one: one.seconds,
}
"""What is told of each category; shares are from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over several runs: of each run its mean over the questions."""

    questions: int
    mean: float
    deviation: float
    """The standard deviation of the runs' means."""
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much the second side is above the first, with its 95 % interval over the questions."""

    mean: float
    low: float
    high: float


def spreads(runs: Sequence[EvaluationRun]) -> dict[str, dict[str, Spread]]:
    """Return the figures of each category, and of all questions; a figure that nothing is labelled for is left out."""
    categories = [ALL, *sorted({one.category for one in runs[0].judged} - {ALL})]
    found: dict[str, dict[str, Spread]] = {}
    for category in categories:
        figures = {name: _spread(runs, figure, category) for name, figure in FIGURES.items()}
        found[category] = {name: spread for name, spread in figures.items() if spread is not None}
    return found


def differences(one: Sequence[EvaluationRun], other: Sequence[EvaluationRun]) -> dict[str, Difference]:
    """Return by how much the other side is above the one, question by question, as ``FIGURES`` names them."""
    found = {name: _difference(one, other, figure) for name, figure in FIGURES.items()}
    return {name: difference for name, difference in found.items() if difference is not None}


def to_json(sides: Mapping[str, Sequence[EvaluationRun]], notes: Sequence[str]) -> dict[str, object]:
    """Return everything that was measured."""
    data: dict[str, object] = {"notes": list(notes), "sides": {name: _side(runs) for name, runs in sides.items()}}
    if len(sides) > 1:
        one, other = sides.values()
        data["difference"] = {name: asdict(each) for name, each in differences(one, other).items()}
    return data


def markdown(sides: Mapping[str, Sequence[EvaluationRun]], notes: Sequence[str]) -> str:
    """Return a table for each side, one of their difference, and the notes."""
    return "\n".join(_lines(sides, notes))


def _spread(runs: Sequence[EvaluationRun], figure: _Figure, category: str) -> Spread | None:
    means = []
    questions = 0
    for run in runs:
        values = [value for one in run.judged if category in {ALL, one.category} and (value := figure(one)) is not None]
        if not values:
            return None
        questions = len(values)
        means.append(mean(values))
    return Spread(questions, mean(means), pstdev(means), min(means), max(means))


def _difference(one: Sequence[EvaluationRun], other: Sequence[EvaluationRun], figure: _Figure) -> Difference | None:
    before, after = _by_question(one, figure), _by_question(other, figure)
    values = np.array([after[name] - before[name] for name in before if name in after])
    if not values.size:
        return None
    drawn = np.random.default_rng(_SEED).integers(0, values.size, (_RESAMPLES, values.size))
    low, high = np.percentile(values[drawn].mean(axis=1), (2.5, 97.5))
    return Difference(float(values.mean()), float(low), float(high))


def _by_question(runs: Sequence[EvaluationRun], figure: _Figure) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for run in runs:
        for one in run.judged:
            value = figure(one)
            if value is not None:
                found.setdefault(one.question, []).append(value)
    return {name: mean(values) for name, values in found.items()}


def _side(runs: Sequence[EvaluationRun]) -> dict[str, object]:
    return {
        "runs": len(runs),
        "model_calls": [run.calls for run in runs],
        "model_tokens": [run.tokens for run in runs],
        "ingest_seconds": [run.ingest_seconds for run in runs],
        "categories": {
            category: {name: asdict(spread) for name, spread in figures.items()}
            for category, figures in spreads(runs).items()
        },
        "questions": [[asdict(one) for one in run.judged] for run in runs],
    }


def _lines(sides: Mapping[str, Sequence[EvaluationRun]], notes: Sequence[str]) -> Iterator[str]:
    for name, runs in sides.items():
        yield f"## {name}: {len(runs)} runs"
        yield ""
        yield f"| category | questions | {' | '.join(FIGURES)} |"
        yield f"|---|---|{'---|' * len(FIGURES)}"
        for category, figures in spreads(runs).items():
            questions = max(spread.questions for spread in figures.values())
            cells = (_cell(figures.get(figure)) for figure in FIGURES)
            yield f"| {category} | {questions} | {' | '.join(cells)} |"
        calls, tokens = mean(run.calls for run in runs), mean(run.tokens for run in runs)
        yield ""
        yield f"Of each run: {calls:.0f} calls of a model, {tokens:.0f} tokens."
        yield ""
    if len(sides) > 1:
        first, second = sides
        yield f"## {second} above {first}"
        yield ""
        yield "| figure | difference | 95 % interval |"
        yield "|---|---|---|"
        for figure, each in differences(*sides.values()).items():
            yield f"| {figure} | {each.mean:+.3f} | {each.low:+.3f} to {each.high:+.3f} |"
        yield ""
    yield from notes


def _cell(spread: Spread | None) -> str:
    if spread is None:
        return ""
    if spread.low == spread.high:
        return f"{spread.mean:.3f}"
    return f"{spread.mean:.3f} ± {spread.deviation:.3f} ({spread.low:.3f} to {spread.high:.3f})"
