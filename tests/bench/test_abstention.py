"""What a confidence is worth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.quality.abstention import abstention, auc, aurc, curve

judged = st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=1, max_size=20)


def test_the_risk_is_that_of_the_most_confident_share() -> None:
    points = curve(np.asarray([0.9, 0.1, 0.5, 0.5]), np.asarray([0.0, 1.0, 1.0, 0.0]))
    assert np.asarray(points) == pytest.approx(np.asarray([(0.25, 0), (0.75, 1 / 3), (1, 1 / 2)]))


def test_the_area_is_the_mean_risk_over_all_coverages() -> None:
    assert aurc(np.asarray([0.9, 0.6, 0.3]), np.asarray([0.0, 1.0, 0.0])) == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)


def test_a_confidence_that_says_nothing_has_the_risk_of_answering_all() -> None:
    assert aurc(np.full(8, 0.4), np.asarray([1.0, 0, 0, 0, 1, 0, 0, 0])) == pytest.approx(0.25)


def test_separation_is_the_share_of_pairs_in_order() -> None:
    assert auc(np.asarray([0.9, 0.5]), np.asarray([0.5, 0.1])) == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert auc(np.asarray([0.9]), np.asarray([])) is None


def test_the_judgement_counts_both_kinds_of_question() -> None:
    told = abstention([0.9, 0.8, 0.2], [False, True, True], [True, True, False], told=True)
    assert (told.answerable, told.unanswerable, told.auc) == (2, 1, 1.0)
    assert told.risk == pytest.approx(2 / 3)
    assert told.curve[-1] == pytest.approx((1, 2 / 3), abs=1e-4)


@given(judged)
def test_no_order_is_better_than_wrong_answers_last(seen: list[tuple[float, bool]]) -> None:
    told = abstention([sure for sure, _ in seen], [bad for _, bad in seen], [True] * len(seen), told=False)
    assert told.best - 1e-9 <= told.aurc <= 1


@given(judged)
def test_a_curve_ends_with_everything_answered(seen: list[tuple[float, bool]]) -> None:
    points = curve(np.asarray([sure for sure, _ in seen]), np.asarray([float(bad) for _, bad in seen]))
    assert points[-1] == pytest.approx((1, sum(bad for _, bad in seen) / len(seen)))
    assert [coverage for coverage, _ in points] == sorted(coverage for coverage, _ in points)
