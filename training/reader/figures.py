"""Measures a reader on scenes: what it finds, what it confuses, and where thresholds have to lie."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from app.adapters.local.reader.tokens import Task
from app.domain.reading import KIND_NAMES, RELATION_NAMES, Thresholds
from training.reader.examples import Example

Probabilities: TypeAlias = npt.NDArray[np.float64]
Figures: TypeAlias = Mapping[str, float]

_UPDATES = (RELATION_NAMES.index("replaces"), RELATION_NAMES.index("ends"))
_SHARES = (0.01, 0.02, 0.05)
_HALF = 0.5


def figures(examples: Sequence[Example], probabilities: Sequence[Probabilities]) -> Figures:
    """Return the figures of each task that the examples have."""
    found: dict[str, float] = {}
    for task, measure in (
        (Task.RELATION, _relation),
        (Task.RELEVANCE, _relevance),
        (Task.KIND, _kind),
        (Task.FOLLOWS, _follows),
    ):
        chosen = [(one, row) for one, row in zip(examples, probabilities, strict=True) if one.task == task]
        if chosen:
            found |= measure([one for one, _ in chosen], np.array([row for _, row in chosen]))
    return found


def at_thresholds(
    examples: Sequence[Example], probabilities: Sequence[Probabilities], thresholds: Thresholds
) -> Figures:
    """Return what a service with these thresholds believes that is so, and that is not."""
    rows = list(zip(examples, probabilities, strict=True))
    relations = [(one, float(updates(row))) for one, row in rows if one.task == Task.RELATION]
    claims = [(one, float(row[1])) for one, row in rows if one.task == Task.FOLLOWS]
    answers = [(one, float(row[1])) for one, row in rows if one.task == Task.RELEVANCE]
    found: dict[str, float] = {}
    for name, least in (("hide", thresholds.hide), ("newer first", thresholds.newer_first)):
        found[f"updates above {name}"] = _above(relations, least, lambda one: one.answer in _UPDATES)
        found[f"hard pairs that hold above {name}"] = _above(relations, least, lambda one: one.hard)
        found[f"unmarked pairs above {name}"] = _above(
            relations, least, lambda one: one.answer not in _UPDATES and not one.hard
        )
    for name, judged, least in (("claims", claims, thresholds.follows), ("answers", answers, thresholds.tells)):
        found[f"true {name} taken"] = _above(judged, least, lambda one: one.answer == 1)
        found[f"false {name} taken"] = _above(judged, least, lambda one: one.hard)
    return found


def _above(judged: Sequence[tuple[Example, float]], least: float, chosen: Callable[[Example], bool]) -> float:
    """Return the share of the chosen examples whose probability is at least this."""
    found = [likely >= least for one, likely in judged if chosen(one)]
    return sum(found) / len(found) if found else float("nan")


def threshold(scores: npt.NDArray[np.float64], share: float) -> float:
    """Return the score that at most a share of these is above."""
    if not len(scores):
        return 1.0
    ordered = np.sort(scores)[::-1]
    return float(ordered[min(len(ordered) - 1, int(len(ordered) * share))])


def auc(scores: npt.NDArray[np.float64], right: npt.NDArray[np.bool_]) -> float:
    """Return how often something right has a higher score than something wrong; a tie counts half."""
    if right.all() or not right.any():
        return float("nan")
    values, places = np.unique(scores, return_inverse=True)
    of_right, of_wrong = (np.bincount(places[chosen], minlength=len(values)) for chosen in (right, ~right))
    below = np.cumsum(of_wrong) - of_wrong
    return float((of_right * (below + of_wrong / 2)).sum() / (right.sum() * (~right).sum()))


def updates(rows: Probabilities) -> Probabilities:
    """Return of relations how likely it is that the older statement holds no longer."""
    found: Probabilities = rows[..., list(_UPDATES)].sum(axis=-1)
    return found


def _relation(examples: Sequence[Example], rows: Probabilities) -> Figures:
    answers = np.array([one.answer for one in examples])
    likely = updates(rows)
    is_update, is_hard = np.isin(answers, _UPDATES), np.array([one.hard for one in examples])
    hard = likely[is_hard & ~is_update]
    found: dict[str, float] = {"hard pairs that hold": len(hard), "updates": int(is_update.sum())}
    for share in _SHARES:
        above = threshold(hard, share)
        found[f"updates found where {share:.0%} of hard pairs are called one"] = float(
            (likely[is_update] > above).mean()
        )
        found[f"threshold of {share:.0%}"] = above
    found["updates found at .5"] = float((likely[is_update] > _HALF).mean())
    found["hard pairs called an update at .5"] = float((hard > _HALF).mean())
    found["unmarked pairs called an update at .5"] = float((likely[~is_hard & ~is_update] > _HALF).mean())
    return found


def _relevance(examples: Sequence[Example], rows: Probabilities) -> Figures:
    right, hard = np.array([one.answer == 1 for one in examples]), np.array([one.hard for one in examples])
    return {
        "relevance AUC": auc(rows[:, 1], right),
        "relevance AUC, against what seems to answer": auc(rows[right | hard, 1], right[right | hard]),
    }


def _kind(examples: Sequence[Example], rows: Probabilities) -> Figures:
    answers = np.array([one.answer for one in examples])
    chosen = rows.argmax(axis=1)
    tasks = KIND_NAMES.index("task")
    return {
        "kinds right": float((chosen == answers).mean()),
        "called a task wrongly": float((chosen[answers != tasks] == tasks).mean()),
        "tasks found": float((chosen[answers == tasks] == tasks).mean()),
    }


def _follows(examples: Sequence[Example], rows: Probabilities) -> Figures:
    right = np.array([one.answer == 1 for one in examples])
    marked = right | np.array([one.hard for one in examples])
    scores = rows[:, 1]
    return {
        "claims AUC": auc(scores[marked], right[marked]),
        "true claims taken at .5": float((scores[right] > _HALF).mean()),
        "false claims taken at .5": float((scores[~right & marked] > _HALF).mean()),
    }
