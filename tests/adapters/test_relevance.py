"""How the scores of a reranker become relevances."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.relevance import relevances
from app.domain.errors import UpstreamRejected


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_not_believed(score: float) -> None:
    with pytest.raises(UpstreamRejected):
        relevances([(0, 0.5), (1, score)], 2)


def test_a_text_that_is_rated_twice_beside_all_others_is_not_believed() -> None:
    with pytest.raises(UpstreamRejected):
        relevances([(0, 0.5), (1, 0.5), (0, 0.7)], 2)


@given(scores=st.lists(st.floats(allow_nan=False, allow_infinity=False)), chance=st.randoms())
def test_relevances_lie_from_0_to_1_in_the_order_of_the_texts_and_of_their_scores(
    scores: list[float], chance: Random
) -> None:
    scored: list[tuple[object, object]] = list(enumerate(scores))
    chance.shuffle(scored)
    found = relevances(scored, len(scores))
    assert all(0 <= relevance <= 1 for relevance in found)
    by_score = [relevance for _, relevance in sorted(zip(scores, found, strict=True))]
    assert by_score == sorted(found)
