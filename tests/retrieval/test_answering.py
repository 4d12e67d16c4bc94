"""What a reader's ratings make of the order and the scores of candidates."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.query import Query
from app.retrieval import answering
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.terms import terms
from app.retrieval.search import Search
from app.retrieval.succession import succeeded
from tests.retrieval.pools import candidate, pool, pools
from tests.support.generation import examples

TEXT = "red fox"
QUERY = ParsedQuery(TEXT, terms(TEXT))
RELEVANCES = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])


@st.composite
def read_pools(draw: st.DrawFn) -> tuple[Pool, Mapping[str, float]]:
    """Draw candidates, and ratings of those that are read."""
    drawn = draw(pools(len(QUERY.terms)))
    chosen = answering.to_read(Fusion(QUERY, drawn), collapse=draw(st.booleans()))
    return drawn, succeeded(drawn, {id_: draw(RELEVANCES) for id_ in chosen})


@settings(deadline=None, max_examples=examples(100))
@given(drawn=read_pools())
def test_candidates_come_in_the_order_of_their_scores_and_findings_add_up_to_these(
    drawn: tuple[Pool, Mapping[str, float]],
) -> None:
    gathered, relevance = drawn
    search = Search(Fusion(QUERY, gathered), [], relevance, is_read=True)
    entries = [search.entry(each, Query("fox", explain=True)) for each in search.ranking]
    holding = [each for each in search.ranking if each.whole and not each.superseded]
    assert [entry.id for entry in entries[: len(holding)]] == [each.id for each in holding]
    scores = [entry.score for entry in entries[: len(holding)]]
    assert scores == sorted(scores, reverse=True)
    assert all(entry.score <= min(scores, default=1) for entry in entries[len(holding) :])
    assert all(0 <= entry.score <= 1 for entry in entries)
    assert sorted(each.id for each in search.ranking) == sorted(gathered.candidates)
    for entry in entries:
        assert sum(finding.weighted for finding in entry.findings) == pytest.approx(entry.score, abs=1e-9)


@settings(deadline=None, max_examples=examples(50))
@given(drawn=read_pools(), more=st.floats(0, 1))
def test_what_is_more_relevant_does_not_come_later_or_score_less(
    drawn: tuple[Pool, Mapping[str, float]], more: float
) -> None:
    gathered, relevance = drawn
    fusion = Fusion(QUERY, gathered)
    for id_ in relevance:
        before = Search(fusion, [], relevance, is_read=True)
        raised = {**relevance, id_: max(relevance[id_], more)}
        after = Search(fusion, [], raised, is_read=True)
        one = gathered.candidates[id_]
        assert after.score(one) >= before.score(one)


def test_what_is_outdated_is_read_with_what_took_its_place() -> None:
    old, new = candidate("a", "I live in Rome", words=(0,)), candidate("b", "I moved to Oslo")
    old.superseded, old.current = True, "b"
    chosen = answering.to_read(Fusion(QUERY, pool(old, new, found={0: 1})), collapse=True)
    assert list(chosen.items()) == [("b", "I moved to Oslo"), ("a", "I live in Rome")]


def test_what_was_read_and_does_not_answer_comes_behind_what_was_not_read() -> None:
    found = pool(*(candidate(str(n), f"text {n}", words=(0,)) for n in range(30)), found={0: 30})
    fusion = Fusion(QUERY, found)
    read = list(answering.to_read(fusion, collapse=True))
    search = Search(fusion, [], dict.fromkeys(read, 0.001) | {read[4]: 0.9}, is_read=True)
    order = [each.id for each in search.ranking]
    assert order[0] == read[4]
    assert set(order[-9:]) == set(read) - {read[4]}


def test_no_more_is_read_than_the_limits_and_the_best_in_any_case() -> None:
    short = pool(*(candidate(str(n), f"text {n}", words=(0,)) for n in range(100)), found={0: 100})
    assert len(answering.to_read(Fusion(QUERY, short), collapse=True)) == answering.MAX_READ
    long = pool(*(candidate(str(n), f"fox {n} " * 5_000, words=(0,)) for n in range(100)), found={0: 100})
    chosen = answering.to_read(Fusion(QUERY, long), collapse=True)
    assert 0 < len(chosen) < answering.MAX_READ
    asked = "red fox " * 500
    assert 1 < len(answering.to_read(Fusion(ParsedQuery(asked, terms(asked)), long), collapse=True)) < len(chosen)
    assert answering.to_read(Fusion(QUERY, pool()), collapse=True) == {}


def test_what_no_reader_knows_the_script_of_is_not_read() -> None:
    found = pool(
        candidate("latin", "the red fox", words=(0,)),
        candidate("other", "\u8d64\u3044\u72d0\u304c\u3044\u307e\u3059", words=(0,)),
        found={0: 2},
    )
    assert list(answering.to_read(Fusion(QUERY, found), collapse=True)) == ["latin"]
    asked = "\u8d64\u3044\u72d0\u306f\u3069\u3053"
    assert answering.to_read(Fusion(ParsedQuery(asked, terms(asked)), found), collapse=True) == {}


def test_a_memory_in_another_language_than_the_query_is_not_read() -> None:
    asked = "Wo ist der Schlüssel für den Keller?"
    found = pool(
        candidate("english", "The key of the cellar is in the kitchen", words=(0,)),
        candidate("german", "Der Schlüssel für den Keller ist in der Küche", words=(0,)),
        candidate("untold", "Keller: Schlüssel 4711", words=(0,)),
        found={0: 3},
    )
    chosen = answering.to_read(Fusion(ParsedQuery(asked, terms(asked)), found), collapse=True)
    assert set(chosen) == {"german", "untold"}


def test_across_languages_a_short_question_is_not_read_with_a_memory_that_seems_to_be_in_another() -> None:
    asked = "Schlüssel für Keller"
    found = pool(
        candidate("english", "The key of the cellar is in the kitchen", words=(0,)),
        candidate("german", "Der Schlüssel für den Keller ist in der Küche", words=(0,)),
        candidate("untold", "Keller: Schlüssel 4711", words=(0,)),
        found={0: 3},
    )
    fusion = Fusion(ParsedQuery(asked, terms(asked)), found)
    assert set(answering.to_read(fusion, collapse=True, across=True)) == {"german", "untold"}
    assert set(answering.to_read(fusion, collapse=True)) == {"english", "german", "untold"}
