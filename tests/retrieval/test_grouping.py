"""Which candidates of each session are entries, and in which order sessions come."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.limits import MAX_GROUPED_METADATA, MAX_OF_GROUP, METADATA_BYTES
from app.domain.query import Group, Query
from app.retrieval.grouping import any_of, grouped
from app.retrieval.pool import Candidate
from app.retrieval.selection import counted, tokens
from tests.retrieval.pools import candidate
from tests.support.generation import examples

SCORES = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 0.5, 1.0])
Drawn = Sequence[tuple[Candidate, float]]


@st.composite
def rankings(draw: st.DrawFn) -> Drawn:
    """Draw candidates of up to three sessions and of none, the best first, with their scores."""
    scores = sorted(draw(st.lists(SCORES, max_size=24)), reverse=True)
    return [
        (
            candidate(
                str(n),
                "x" * draw(st.sampled_from([1, 4, 40])),
                session_id=draw(st.sampled_from([None, "", "s", "t"])),
            ),
            score,
        )
        for n, score in enumerate(scores)
    ]


def of(drawn: Drawn, *, top_k: int = 50, max_tokens: int | None = None) -> Sequence[Group]:
    scores = {one.id: score for one, score in drawn}
    ranked = [one for one, _ in drawn]
    return grouped(ranked, lambda one: scores[one.id], top_k=top_k, max_tokens=max_tokens)


def made(*sessions: tuple[str | None, float]) -> Drawn:
    return [(candidate(str(n), session_id=session), score) for n, (session, score) in enumerate(sessions)]


@settings(deadline=None, max_examples=examples(200))
@given(drawn=rankings(), top_k=st.integers(1, 6), max_tokens=st.none() | st.integers(1, 30))
def test_groups_come_by_their_scores_each_of_one_session_with_its_best_entries_first(
    drawn: Drawn, top_k: int, max_tokens: int | None
) -> None:
    groups = of(drawn, top_k=top_k, max_tokens=max_tokens)
    session_of = {one.id: one.session_id for one, _ in drawn}
    score_of = {one.id: score for one, score in drawn}
    assert len(groups) <= top_k
    assert [group.score for group in groups] == sorted((group.score for group in groups), reverse=True)
    named = [group.session_id for group in groups if group.session_id is not None]
    assert len(named) == len(set(named))
    for group in groups:
        assert 1 <= len(group.entries) <= (1 if group.session_id is None else MAX_OF_GROUP)
        assert {session_of[id_] for id_ in group.entries} == {group.session_id}
        assert list(group.entries) == sorted(group.entries, key=int)
        missed = math.prod(1 - score_of[id_] for id_ in group.entries)
        assert group.score == pytest.approx(1 - missed, abs=1e-12)
        assert 0 <= group.score <= 1
    for better, worse in pairwise(groups):
        if better.score == worse.score:
            assert int(better.entries[0]) < int(worse.entries[0])
    if max_tokens is not None:
        contents = {one.id: one.content for one, _ in drawn}
        assert sum(tokens(contents[id_]) for group in groups for id_ in group.entries) <= max_tokens


@settings(deadline=None, max_examples=examples(100))
@given(drawn=rankings())
def test_of_each_session_its_five_best_are_returned_where_all_groups_fit(drawn: Drawn) -> None:
    places = Counter[str]()
    best = set()
    for one, _ in drawn:
        key = f"alone {one.id}" if one.session_id is None else f"session {one.session_id}"
        places[key] += 1
        if places[key] <= MAX_OF_GROUP:
            best.add(one.id)
    groups = of(drawn)
    assert {id_ for group in groups for id_ in group.entries} == best
    assert len(list(counted([one for one, _ in drawn], Query("x", group_by="session")))) == len(groups)


@settings(deadline=None, max_examples=examples(100))
@given(drawn=rankings(), fewer=st.integers(1, 5))
def test_fewer_groups_are_the_first_of_more(drawn: Drawn, fewer: int) -> None:
    assert of(drawn, top_k=fewer) == of(drawn)[:fewer]


@given(scores=st.lists(SCORES, max_size=6), more=SCORES)
def test_one_more_memory_never_makes_an_answer_less_likely(scores: list[float], more: float) -> None:
    assert any_of([]) == 0.0
    assert any_of([more]) == more
    assert 0 <= any_of(scores) <= any_of([*scores, more]) <= 1
    assert any_of([*scores, 1.0]) == 1.0


def test_several_good_entries_of_a_session_come_before_a_better_one_of_another() -> None:
    groups = of(made(("s", 0.6), ("t", 0.5), ("t", 0.5), (None, 0.1)))
    assert [(group.session_id, group.entries) for group in groups] == [("t", ["1", "2"]), ("s", ["0"]), (None, ["3"])]
    assert [group.score for group in groups] == [0.75, 0.6, 0.1]


def test_memories_without_a_session_are_no_group_together() -> None:
    assert [group.entries for group in of(made((None, 0.5), (None, 0.5), ("", 0.5)))] == [["0"], ["1"], ["2"]]


def test_what_a_full_group_has_no_place_for_takes_no_tokens() -> None:
    talk = made(*[("s", 0.9)] * (MAX_OF_GROUP + 3), ("t", 0.2))
    groups = of(talk, max_tokens=(MAX_OF_GROUP + 1) * tokens("text"))
    assert [len(group.entries) for group in groups] == [MAX_OF_GROUP, 1]


def test_a_shorter_entry_takes_the_place_of_one_that_does_not_fit() -> None:
    ranked: Mapping[str, str] = {"0": "four", "1": "a long one " * 9, "2": "four"}
    drawn = [(candidate(id_, content, session_id="s"), 0.5) for id_, content in ranked.items()]
    assert [group.entries for group in of(drawn, max_tokens=2)] == [["0", "2"]]


def test_where_metadata_is_large_the_worst_entries_are_left_out() -> None:
    large = {"k": "x" * METADATA_BYTES}
    drawn = [(candidate(str(n), session_id=f"s{n % 25}", metadata=large), 0.5) for n in range(75)]
    kept = [int(id_) for group in of(drawn) for id_ in group.entries]
    assert sorted(kept) == list(range(len(kept)))
    assert MAX_GROUPED_METADATA // METADATA_BYTES - len(kept) in {0, 1}


def test_without_groups_each_candidate_counts() -> None:
    ones = [one for one, _ in made(("s", 0.5), ("s", 0.5), (None, 0.5))]
    assert list(counted(ones, Query("x"))) == ones
    assert [one.id for one in counted(ones, Query("x", group_by="session"))] == ["0", "2"]
