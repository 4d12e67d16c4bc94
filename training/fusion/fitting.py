"""Fits the weights of channels, and how evidence and a reader's relevance become a likelihood.

What a channel gives may build on what others have given (a neighbour's evidence), so it is asked with the weights of
the round before, and the weights are fitted anew: after some rounds they do not change any more.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.retrieval.answering import log_odds
from app.retrieval.fusion import FEW, Fusion
from app.retrieval.weights import KindWeights, ReadFit, ScoreFit, Weights
from bench.quality.bar.figures import JUDGED, MARGIN
from bench.quality.scores import recall
from training.fusion.gathering import Case

_Array = NDArray[np.float64]
_NOTE = ("lexical", "vector", "time", "numbers")
_TURN = ("lexical", "vector", "time", "numbers", "beside", "session", "names")
_TIMES = {"synonyms": ("lexical", 1.0), "hyde": ("vector", 0.5), "key": ("vector", 1.5), "recency": ("vector", 1.25)}
"""Channels that no labelled question needs: they count so many times what another does."""
GIVEN = {*_TIMES, "learned"}
"""Channels that are not fitted."""
_ROUNDS, _STEPS = 4, 30
_RIDGE, _SMALL, _TINY = 1e-3, 1e-6, 1e-6
_FARTHEST = 30.0
"""Log odds, beyond which nothing is told apart."""
_NOTHING = np.arange(-2.0, 8.5, 0.5).tolist()
"""What the evidence that nothing answers may be."""
_SHARES = [share / 20 for share in range(20, 9, -1)]
"""What the weight of words in notes may be of the likeliest."""
_MANY = 100
"""Questions of a set that tell whether it is below another method."""
_PLACES = 20
"""So many candidates of a question are judged."""


@dataclass(frozen=True, slots=True)
class _Row:
    """What is known of a candidate, and whether it answers."""

    features: Sequence[float]
    answers: bool
    weight: float
    odds: float = 0.0
    """What its log odds begin with."""


def fitted(sets: Sequence[Sequence[Case]], small: Sequence[Case], begun: Weights) -> Weights:
    """Return weights of the channels, and of the likelihood, that the labelled questions are likeliest with.

    ``sets`` has the cases of each set; ``small`` are cases of a few memories, which say nothing of an order.
    """
    cases, weights = [case for of_set in sets for case in of_set], begun
    for _ in range(_ROUNDS):
        weights = _channels(cases, weights)
        print(weights.note.base, dict(weights.note.channels), dict(weights.turn.channels), sep="\n", flush=True)
    weights = above_vectors([[case for case in of_set if case.answers] for of_set in sets], weights)
    return weights.model_copy(update={"score": _score([*cases, *small], weights)})


def above_vectors(sets: Sequence[Sequence[Case]], weights: Weights) -> Weights:
    """Return the weights, with that of words in notes lowered until no set of notes is below vectors alone.

    Words help an assistant's queries and lead somebody's own words astray: the likeliest weight is that of all sets
    together, and may be wrong for one of them.

    Raises:
        ValueError: half of the weight is still too much.
    """
    notes = [of_set for of_set in sets if len(of_set) >= _MANY and all(map(_is_of_notes, of_set))]
    for share in _SHARES:
        words = round(share * weights.note.channels["lexical"], 2)
        note = _with(weights.note, weights.note.base, {"lexical": words})
        lowered = weights.model_copy(update={"note": note})
        if not any(_is_below_vectors(of_set, lowered) for of_set in notes):
            return lowered
    raise ValueError(f"A set of notes is below vectors alone though words count {_SHARES[-1]:.0%} of what they should.")


def _is_of_notes(case: Case) -> bool:
    return all(one.session_id is None for one in case.pool.candidates.values())


def _is_below_vectors(cases: Sequence[Case], weights: Weights) -> bool:
    """Tell whether less of what answers is among the first than in the order of the vectors, as ``bench-bar`` does."""
    whole = [[one.id for one in Fusion(case.query, case.pool, weights=weights).ranked] for case in cases]
    vectors = [sorted(case.pool.cosines, key=case.pool.cosines.__getitem__, reverse=True) for case in cases]
    return any(100 * (_found(cases, vectors, k) - _found(cases, whole, k)) > MARGIN for k in JUDGED)


def _found(cases: Sequence[Case], orders: Iterable[Sequence[str]], k: int) -> float:
    shares = (recall(case.answers, order, k) for case, order in zip(cases, orders, strict=True))
    return sum(shares) / len(cases)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The candidates of a question as rows of what the channels give, and which of them answer."""

    rows: _Array
    answers: _Array
    weight: float


def _channels(cases: Sequence[Case], weights: Weights) -> Weights:
    choices = [_choice(case, Fusion(case.query, case.pool, weights=weights)) for case in cases if case.answers]
    values = _likeliest([each for each in choices if each.answers.any()], 1 + len(_NOTE) + len(_TURN))
    base, note, turn = values[0], values[1 : 1 + len(_NOTE)], values[1 + len(_NOTE) :]
    return weights.model_copy(
        update={
            "note": _with(weights.note, base, dict(zip(_NOTE, note, strict=True))),
            "turn": _with(weights.turn, 0.0, dict(zip(_TURN, turn, strict=True))),
        }
    )


def _with(kind: KindWeights, base: float, fitted_: Mapping[str, float]) -> KindWeights:
    channels = {**kind.channels, **{name: round(float(value), 2) for name, value in fitted_.items()}}
    for name, (other, times) in _TIMES.items():
        channels[name] = round(times * channels[other], 2)
    return kind.model_copy(update={"base": round(float(base), 2), "channels": channels})


def _choice(case: Case, fusion: Fusion) -> _Choice:
    """Return a row for each candidate: 1 for a note, what its channels give it, and what they give a turn."""
    ids = sorted(case.judged)
    rows = np.zeros((len(ids), 1 + len(_NOTE) + len(_TURN)))
    for row, id_ in enumerate(ids):
        is_note = case.pool.candidates[id_].session_id is None
        names, first = (_NOTE, 1) if is_note else (_TURN, 1 + len(_NOTE))
        rows[row, 0] = float(is_note)
        rows[row, first : first + len(names)] = [fusion.by_channel[name].get(id_, 0.0) for name in names]
    return _Choice(rows, np.array([id_ in case.answers for id_ in ids], np.float64), case.weight)


def _likeliest(choices: Sequence[_Choice], width: int) -> _Array:
    """Return the weights of the likeliest conditional logit: that what answers is chosen of the candidates.

    No channel counts against a candidate: one whose weight would be negative has none. The first column is no channel.
    """
    free = np.ones(width, bool)
    while True:
        values = _steps(choices, free)
        against = free & (values < 0)
        against[0] = False
        if not against.any():
            return values
        free &= ~against


def _steps(choices: Sequence[_Choice], free: NDArray[np.bool_]) -> _Array:
    """Return the likeliest weights of which only some may differ from 0, by Newton's method with halved steps."""
    values = np.zeros(len(free))
    for _ in range(_STEPS):
        slope, curve = -_RIDGE * values, _RIDGE * np.eye(len(free))
        for each in choices:
            odds = each.rows @ values
            share = np.exp(odds - odds.max())
            share /= share.sum()
            apart = each.rows - share @ each.rows
            slope += each.weight * (each.answers / each.answers.sum() - share) @ each.rows
            curve += each.weight * (apart * share[:, None]).T @ apart
        step = np.zeros(len(free))
        step[free] = np.linalg.solve(curve[np.ix_(free, free)], slope[free])
        before = _loss(choices, values)
        while _loss(choices, values + step) > before and np.abs(step).max() > _TINY:
            step /= 2
        values = values + step
        if np.abs(step).max() < _TINY:
            break
    return values


def _loss(choices: Sequence[_Choice], values: _Array) -> float:
    loss = _RIDGE * float(values @ values) / 2
    for each in choices:
        odds = each.rows @ values
        share = each.answers / each.answers.sum()
        loss += each.weight * float(np.logaddexp.reduce(odds) - share @ odds)
    return loss


def _score(cases: Sequence[Case], weights: Weights) -> ScoreFit:
    rows: list[_Row] = []
    for case in cases:
        fusion = Fusion(case.query, case.pool, weights=weights)
        others, memories = fusion.together, math.log(max(case.pool.stats.memories, FEW))
        rows += (
            _Row((fusion.scores[id_], others, memories, 1.0), id_ in case.answers, case.weight)
            for id_ in _first(case, fusion)
        )
    fits = {nothing: _regressed([_with_nothing(row, nothing) for row in rows]) for nothing in _NOTHING}
    nothing = min(fits, key=lambda each: fits[each].loss)
    evidence, among, size, base = fits[nothing].weights
    if evidence + among < 0:  # more evidence is not to lower a score
        alike = [_with_nothing(row, nothing) for row in rows]
        of_both = [replace(row, features=(row.features[0] - row.features[1], *row.features[2:])) for row in alike]
        evidence, size, base = _regressed(of_both).weights
        among = -evidence
    return ScoreFit(evidence=evidence, others=among, nothing=nothing, memories=size, base=base)


def _with_nothing(row: _Row, nothing: float) -> _Row:
    own, others, *rest = row.features
    return _Row((own, float(np.logaddexp(others, nothing)), *rest), row.answers, row.weight)


def joined(cases: Sequence[Case], read: Sequence[Mapping[str, float]], weights: Weights) -> Weights:
    """Return the weights with how a likelihood is joined with relevances, of which ``read`` has each case's."""
    kinds = {name: _joined(cases, read, weights, name) for name in ("note", "turn")}
    return weights.model_copy(update=kinds)


def _joined(cases: Sequence[Case], read: Sequence[Mapping[str, float]], weights: Weights, name: str) -> KindWeights:
    """Return the weights of one kind of memory."""
    kind: KindWeights = getattr(weights, name)
    of_read: list[_Row] = []
    of_others: list[_Row] = []
    for case, relevance in zip(cases, read, strict=True):
        fusion = Fusion(case.query, case.pool, weights=weights)
        likely = fusion.likelihoods
        for id_ in (id_ for id_ in _first(case, fusion) if fusion.kind(fusion.pool.candidates[id_]) is kind):
            own, answers = log_odds(likely[id_]), id_ in case.answers
            if id_ in relevance:
                of_read.append(_Row((log_odds(relevance[id_]), own, 1.0), answers, case.weight))
            else:
                of_others.append(_Row((1.0,), answers, case.weight, own))
    relevance_, likelihood, base = _regressed(of_read).weights
    (unread,) = _regressed(of_others).weights
    return kind.model_copy(
        update={
            "read": ReadFit(relevance=relevance_, likelihood=likelihood, base=base),
            "unread": unread,
        }
    )


def _first(case: Case, fusion: Fusion) -> Iterator[str]:
    """Give the ids of the best candidates of which anything was found, as far as they are judged."""
    return (
        one.id for one in fusion.first(_PLACES) if fusion.scores[one.id] > -math.inf and one.id not in case.outdated
    )


@dataclass(frozen=True, slots=True)
class _Regression:
    weights: Sequence[float]
    loss: float


def _regressed(rows: Sequence[_Row]) -> _Regression:
    """Return the likeliest logistic regression, found by Newton's method with halved steps."""
    values, begun = np.array([row.features for row in rows]), np.array([row.odds for row in rows])
    signs = np.where([row.answers for row in rows], 1.0, -1.0)
    counts = np.array([row.weight for row in rows])
    counts /= counts.sum()

    def loss(weights: _Array) -> float:
        return float(counts @ np.logaddexp(0, -signs * (begun + values @ weights)) + _SMALL * weights @ weights / 2)

    weights = np.zeros(values.shape[1])
    for _ in range(_STEPS):
        wrong = 1 / (1 + np.exp(np.clip(signs * (begun + values @ weights), -_FARTHEST, _FARTHEST)))
        slope = values.T @ (counts * signs * wrong) - _SMALL * weights
        curve = (values * (counts * wrong * (1 - wrong))[:, None]).T @ values + _SMALL * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        while loss(weights + step) > loss(weights) and np.abs(step).max() > _TINY:
            step /= 2
        weights = weights + step
    return _Regression([round(float(weight), 2) for weight in weights], loss(weights))
