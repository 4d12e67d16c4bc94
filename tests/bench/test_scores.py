"""The figures of one ranking and the intervals of many: by hand, and by the laws that hold for all."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.quality.scores import METRICS, estimates, hit, ndcg, recall, reciprocal_rank, resampled, scores

turns = st.integers(0, 30).map(str)
rankings = st.lists(turns, max_size=20, unique=True)
evidence = st.sets(turns, min_size=1, max_size=6)
FOUND = ["x", "a", "y", "b", "z", "v"]


def test_recall_is_the_share_of_the_evidence_among_the_first() -> None:
    assert [recall({"a", "b", "c"}, FOUND, k) for k in (1, 2, 4, 6)] == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])


def test_a_hit_needs_one_piece_of_evidence() -> None:
    assert [hit({"a", "b"}, FOUND, k) for k in (1, 2, 6)] == [0, 1, 1]


def test_the_reciprocal_rank_is_that_of_the_first_evidence() -> None:
    assert [reciprocal_rank(gold, FOUND) for gold in ({"b", "a"}, {"b"}, {"q"})] == [1 / 2, 1 / 4, 0]


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    best = 1 + 1 / log2(3) + 1 / log2(4)
    assert ndcg({"a", "b", "c"}, FOUND, 10) == pytest.approx((1 / log2(3) + 1 / log2(5)) / best)
    assert ndcg({"a", "b"}, FOUND, 2) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))


def test_the_figures_come_in_the_order_of_their_names() -> None:
    told = dict(zip(METRICS, scores({"a", "b"}, FOUND), strict=True))
    assert told["recall@5"] == told["recall@20"] == told["hit@5"] == 1
    assert (told["mrr"], told["hit@1"]) == (0.5, 0)


@given(evidence, rankings)
def test_every_figure_is_a_share(gold: set[str], found: list[str]) -> None:
    assert all(0 <= figure <= 1 + 1e-12 for figure in scores(gold, found))


@given(evidence, rankings, st.integers(1, 20), st.integers(1, 20))
def test_recall_and_hits_only_grow_with_k(gold: set[str], found: list[str], one: int, other: int) -> None:
    fewer, more = sorted((one, other))
    assert recall(gold, found, fewer) <= recall(gold, found, more)
    assert hit(gold, found, fewer) <= hit(gold, found, more)


@given(evidence, rankings)
def test_evidence_first_is_best(gold: set[str], found: list[str]) -> None:
    first = sorted(gold) + [turn for turn in found if turn not in gold]
    assert all(best >= figure - 1e-12 for best, figure in zip(scores(gold, first), scores(gold, found), strict=True))
    assert ndcg(gold, first, 10) == pytest.approx(1)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.floats(0, 1))
def test_the_interval_of_what_is_always_the_same_is_that_value(conversations: list[str], value: float) -> None:
    (told,) = estimates(np.full((len(conversations), 1), value), resampled(conversations, resamples=20))
    assert (told.mean, told.low, told.high) == pytest.approx((value, value, value))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1, max_size=12))
def test_an_interval_stays_within_what_was_seen(seen: list[tuple[str, float]]) -> None:
    values = np.asarray([[value] for _, value in seen])
    (told,) = estimates(values, resampled([name for name, _ in seen], resamples=50))
    assert values.min() - 1e-9 <= told.low <= told.high <= values.max() + 1e-9


def test_a_resample_draws_whole_conversations() -> None:
    drawn = resampled(["a"] * 4 + ["b"] * 2, resamples=200)
    of_a, of_b = drawn[:, :4].sum(axis=1), drawn[:, 4:].sum(axis=1)
    assert set(zip(of_a, of_b, strict=True)) == {(8, 0), (4, 2), (0, 4)}


def test_one_conversation_has_its_questions_resampled() -> None:
    drawn = resampled(["a"] * 5, resamples=50)
    assert set(drawn.sum(axis=1)) == {5}
    assert len({tuple(row) for row in drawn}) > 10


def test_conversations_that_differ_widen_the_interval() -> None:
    values = np.asarray([[1.0]] * 50 + [[0.0]] * 50)
    (together,) = estimates(values, resampled(["a"] * 100, resamples=500))
    (apart,) = estimates(values, resampled(["a"] * 50 + ["b"] * 50, resamples=500))
    assert apart.high - apart.low > 2 * (together.high - together.low)


def test_each_data_set_keeps_its_share_of_the_conversations() -> None:
    drawn = resampled(["a", "b", "c", "c"], ["d", "d", "e", "e"], resamples=50)
    assert set(drawn[:, :2].sum(axis=1)) == set(drawn[:, 2:].sum(axis=1)) == {2}
    assert {tuple(row) for row in drawn[:, :2]} == {(2, 0), (1, 1), (0, 2)}


def test_the_same_questions_are_resampled_alike_every_time() -> None:
    assert (resampled(["a", "b", "b"], resamples=10) == resampled(["a", "b", "b"], resamples=10)).all()
