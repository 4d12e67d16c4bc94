"""What ratings make of the order and the scores of candidates."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.query import Query
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.terms import terms
from app.retrieval.reranking import CHANNEL, MAX_RATED, to_rate
from app.retrieval.search import Search
from tests.retrieval.pools import candidate, pool, pools
from tests.support.generation import examples

TEXT = "red fox"
QUERY = ParsedQuery(TEXT, terms(TEXT))
RELEVANCES = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])


@st.composite
def rated_pools(draw: st.DrawFn) -> tuple[Pool, Mapping[str, float]]:
    """Draw candidates, and ratings of the best of them."""
    drawn = draw(pools(len(QUERY.terms)))
    best = to_rate(Fusion(QUERY, drawn).ranked, collapse=draw(st.booleans()))
    return drawn, {each.id: draw(RELEVANCES) for each in best[: draw(st.integers(0, len(best)))]}


@settings(deadline=None, max_examples=examples(100))
@given(drawn=rated_pools())
def test_what_was_rated_scores_its_relevance_the_rest_no_more_and_findings_add_up_to_scores(
    drawn: tuple[Pool, Mapping[str, float]],
) -> None:
    gathered, relevance = drawn
    search = Search(Fusion(QUERY, gathered), [], relevance)
    entries = [search.entry(each, Query("fox", explain=True)) for each in search.ranking]
    scores = [entry.score for entry in entries]
    rated = scores[: len(relevance)]
    assert rated == sorted(relevance.values(), reverse=True)
    assert all(score <= min(rated, default=1) for score in scores[len(relevance) :])
    assert all(0 <= score <= 1 for score in scores)
    assert sorted(each.id for each in search.ranking) == sorted(gathered.candidates)
    for entry in entries:
        assert sum(finding.weighted for finding in entry.findings) == pytest.approx(entry.score, abs=1e-9)
    if relevance:
        assert search.confidence == max(relevance.values()) == scores[0]


@settings(deadline=None, max_examples=examples(100))
@given(drawn=rated_pools())
def test_what_was_rated_comes_first_by_its_relevance_and_the_rest_keeps_its_order(
    drawn: tuple[Pool, Mapping[str, float]],
) -> None:
    gathered, relevance = drawn
    fusion = Fusion(QUERY, gathered)
    before = [each.id for each in fusion.ranked]
    after = [each.id for each in Search(fusion, [], relevance).ranking]
    rated, rest = after[: len(relevance)], after[len(relevance) :]
    assert rated == sorted(rated, key=lambda id_: (-relevance[id_], before.index(id_)))
    assert rest == [id_ for id_ in before if id_ not in relevance]


@settings(deadline=None, max_examples=examples(30))
@given(gathered=pools(len(QUERY.terms)))
def test_without_ratings_nothing_changes(gathered: Pool) -> None:
    fusion = Fusion(QUERY, gathered)
    search = Search(fusion, [])
    assert list(search.ranking) == fusion.ranked
    channels = {
        finding.channel for each in fusion.ranked for finding in search.entry(each, Query("fox", explain=True)).findings
    }
    assert CHANNEL not in channels


def test_the_finding_of_what_was_rated_is_its_whole_score_and_the_channels_keep_their_measures() -> None:
    found = pool(candidate("a", words=(0, 1)), candidate("b", words=(0,)), found={0: 2, 1: 1}, cosines={"a": 0.5})
    fusion = Fusion(QUERY, found)
    plain = {
        each.channel: each
        for each in Search(fusion, []).entry(found.candidates["a"], Query("fox", explain=True)).findings
    }
    search = Search(fusion, [], {"a": 0.25})
    rating, *others = search.entry(found.candidates["a"], Query("fox", explain=True)).findings
    assert (rating.channel, rating.weighted, rating.raw, rating.rank) == (CHANNEL, 0.25, 0.25, None)
    assert others == [replace(plain[each.channel], weighted=0.0) for each in others]
    assert {each.channel for each in others} == set(plain)
    behind = search.entry(found.candidates["b"], Query("fox", explain=True))
    assert behind.score <= 0.25
    assert CHANNEL not in {each.channel for each in behind.findings}


def test_what_was_not_rated_scores_no_more_than_the_least_relevant_of_what_was() -> None:
    found = pool(*(candidate(str(n), words=(0, 1)) for n in range(3)), found={0: 3, 1: 3}, memories=1000)
    search = Search(Fusion(QUERY, found), [], {"2": 0.75, "1": 0.03125})
    assert [(each.id, search.score(each)) for each in search.ranking] == [("2", 0.75), ("1", 0.03125), ("0", 0.03125)]
    unlikely = Search(Fusion(QUERY, found), [], {"2": 1.0, "1": 1.0})
    assert unlikely.score(found.candidates["0"]) == Search(Fusion(QUERY, found), []).score(found.candidates["0"])


def test_no_more_are_rated_than_the_limit_and_none_that_cannot_be_an_entry() -> None:
    ranked = [candidate("gone", expired=True), candidate("asked", added=True)]
    ranked += [candidate(str(n), f"text {n // 2}") for n in range(100)]
    assert [each.id for each in to_rate(ranked, collapse=False)] == [str(n) for n in range(MAX_RATED)]
    assert [each.id for each in to_rate(ranked, collapse=True)] == [str(2 * n) for n in range(MAX_RATED)]
    assert to_rate([], collapse=True) == []


def test_of_copies_the_one_that_was_rated_is_the_entry() -> None:
    found = pool(candidate("a", "The fox", words=(0,), created_at=1), candidate("b", "the  fox"), found={0: 1})
    fusion = Fusion(QUERY, found)
    (rated,) = to_rate(fusion.ranked, collapse=True)
    search = Search(fusion, [], {rated.id: 0.0})
    assert [each.id for each in search.ranked(Query(TEXT, collapse="copies"))] == ["a"]
