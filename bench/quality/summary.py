"""From answers to figures: over all questions, by data set, category and conversation, and against another run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from bench.quality import sessions
from bench.quality.abstention import Abstention, abstention
from bench.quality.asking import Asked
from bench.quality.cut import Kept, kept
from bench.quality.newer import Newer, newer
from bench.quality.scores import METRICS, RESAMPLES, Estimate, estimates, hit, resampled, scores

RISK_K = 5
"""An answer is wrong where none of its first entries is evidence: as many as a recall returns unless told."""
NOTHING_FOUND = -1.0
"""The confidence of an answer without entries that tells none: below every score."""
ALL = "all"


@dataclass(frozen=True, slots=True)
class Part:
    """The figures of some of the questions that have evidence."""

    questions: int
    conversations: int
    figures: Mapping[str, Estimate]
    """By the names of ``METRICS``."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one service, or one variant of it, was found to do."""

    service: str
    variant: str
    env: Mapping[str, str]
    ask_seconds: float
    by_dataset: Mapping[str, Part]
    """Each data set, and ``all`` questions together."""
    by_category: Mapping[str, Mapping[str, Part]]
    by_conversation: Mapping[str, Part]
    over_conversations: Part | None
    """The mean of the conversations' means; None for one conversation."""
    abstention: Mapping[str, Abstention]
    kept: Mapping[str, Kept]
    """By data set, where the service tells the score of each entry."""
    by_session: Mapping[str, Part] = field(default_factory=dict)
    """By data set, of the conversations that have sessions: the same figures, counted by sessions."""
    newer: Mapping[str, Newer] = field(default_factory=dict)
    """By data set, where answers have changed."""
    difference: Mapping[str, Part] = field(default_factory=dict)
    """From the whole recall, question by question, by data set; positive is better than the whole."""

    @property
    def name(self) -> str:
        """What the run is called in tables."""
        return f"{self.service}, {self.variant}" if self.variant else self.service

    def record(self) -> dict[str, object]:
        """Return it for the file of results."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Served:
    """Where answers came from, and how long all of them took."""

    service: str
    variant: str
    env: Mapping[str, str]
    seconds: float


def summary(served: Served, asked: Sequence[Asked], whole: Sequence[Asked] = (), *, resamples: int = RESAMPLES) -> Run:
    """Make the figures of a run; with the answers of the whole recall also how far it is from them."""
    questions = [one for one in asked if one.answerable]
    values = _values(questions)
    by_conversation = _parts(questions, values, lambda one: one.conv_id, resamples)
    return Run(
        service=served.service,
        variant=served.variant,
        env=served.env,
        ask_seconds=round(served.seconds, 1),
        by_dataset=_with_all(questions, values, resamples),
        by_category=_by_category(questions, values, resamples),
        by_conversation=by_conversation,
        over_conversations=_over_conversations(questions, values, resamples),
        abstention={name: _abstention_of(group) for name, group in _groups(asked).items()},
        kept={
            name: kept(group)
            for name, group in _groups(asked).items()
            if all(len(one.answer.scores) == len(one.answer.turn_ids) for one in group)
        },
        by_session=_by_session(questions, resamples),
        newer={name: counted for name, group in _groups(asked).items() if (counted := newer(group)) is not None},
        difference=_difference(questions, values, whole, resamples),
    )


def _values(questions: Sequence[Asked]) -> NDArray[np.float64]:
    rows = [scores(one.question.gold, one.answer.turn_ids) for one in questions]
    return np.asarray(rows, float).reshape(len(rows), len(METRICS))


def _part(questions: Sequence[Asked], values: NDArray[np.float64], resamples: int) -> Part:
    conversations, datasets = [one.conv_id for one in questions], [one.dataset for one in questions]
    figures = estimates(values, resampled(conversations, datasets, resamples=resamples))
    return Part(len(questions), len(set(conversations)), dict(zip(METRICS, figures, strict=True)))


def _parts(
    questions: Sequence[Asked], values: NDArray[np.float64], key: Callable[[Asked], str], resamples: int
) -> dict[str, Part]:
    keys = [key(one) for one in questions]
    parts = {}
    for name in dict.fromkeys(keys):
        places = [place for place, other in enumerate(keys) if other == name]
        parts[name] = _part([questions[place] for place in places], values[places], resamples)
    return parts


def _with_all(questions: Sequence[Asked], values: NDArray[np.float64], resamples: int) -> dict[str, Part]:
    parts = _parts(questions, values, lambda one: one.dataset, resamples)
    return parts if len(parts) < 2 else {**parts, ALL: _part(questions, values, resamples)}  # noqa: PLR2004 - two sets


def _by_session(questions: Sequence[Asked], resamples: int) -> dict[str, Part]:
    of_sessions = [one for one in questions if sessions.has_any(one)]
    rows = [scores(sessions.gold(one), sessions.found(one)) for one in of_sessions]
    values = np.asarray(rows, float).reshape(len(rows), len(METRICS))
    return _parts(of_sessions, values, lambda one: one.dataset, resamples)


def _by_category(questions: Sequence[Asked], values: NDArray[np.float64], resamples: int) -> dict[str, dict[str, Part]]:
    datasets = [one.dataset for one in questions]
    found = {}
    for dataset in dict.fromkeys(datasets):
        places = [place for place, other in enumerate(datasets) if other == dataset]
        of_it = [questions[place] for place in places]
        found[dataset] = dict(
            sorted(_parts(of_it, values[places], lambda one: one.question.category, resamples).items())
        )
    return found


def _over_conversations(questions: Sequence[Asked], values: NDArray[np.float64], resamples: int) -> Part | None:
    of = {one.conv_id: one.dataset for one in questions}
    if len(of) < 2:  # noqa: PLR2004 - of one conversation there is no mean
        return None
    where = np.asarray([one.conv_id for one in questions])
    means = np.asarray([values[where == conv_id].mean(axis=0) for conv_id in of])
    figures = estimates(means, resampled([""] * len(of), list(of.values()), resamples=resamples))
    return Part(len(questions), len(of), dict(zip(METRICS, figures, strict=True)))


def _difference(
    questions: Sequence[Asked], values: NDArray[np.float64], whole: Sequence[Asked], resamples: int
) -> dict[str, Part]:
    """Compare question by question, so that what makes a question hard falls out of the interval."""
    if not whole:
        return {}
    against = {(one.conv_id, one.question.qid): one for one in whole if one.answerable}
    base = _values([against[one.conv_id, one.question.qid] for one in questions])
    return _with_all(questions, values - base, resamples)


def _groups(asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    datasets = list(dict.fromkeys(one.dataset for one in asked))
    groups = {name: [one for one in asked if one.dataset == name] for name in datasets}
    if len(datasets) > 1:
        groups[ALL] = list(asked)
    return groups


def _abstention_of(asked: Sequence[Asked]) -> Abstention:
    return abstention(
        [_confidence(one) for one in asked],
        [not one.answerable or not hit(one.question.gold, one.answer.turn_ids, RISK_K) for one in asked],
        [one.answerable for one in asked],
        told=all(one.answer.confidence is not None for one in asked),
    )


def _confidence(asked: Asked) -> float:
    answer = asked.answer
    if answer.confidence is not None:
        return answer.confidence
    return NOTHING_FOUND if answer.top_score is None else answer.top_score
