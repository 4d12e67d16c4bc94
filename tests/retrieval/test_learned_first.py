"""What was learned of messages comes before them, and a message that says no more is left out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.retrieval.channels.lexical import Lexical
from app.retrieval.channels.synonyms import Synonyms
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate
from app.retrieval.query.analysis import MAX_SYNONYMS, synonym_terms
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.terms import Term, terms
from app.retrieval.selection import learned_first
from tests.retrieval.pools import candidate, pool
from tests.support.generation import examples

LONG = "Oslo is home, the dentist moved, parking is hopeless, and Petra bakes bread on Sundays"


def message(id_: str, content: str, **fields: object) -> Candidate:
    return candidate(id_, content, message_id=f"m{id_}", **fields)


def learned(id_: str, content: str, *messages: str, **fields: object) -> Candidate:
    return candidate(id_, content, sources=[f"m{each}" for each in messages], **fields)


def order(*ranked: Candidate, most: int = 10) -> list[str]:
    return [each.id for each in learned_first(ranked, most)]


def test_a_message_goes_behind_the_last_of_what_was_learned_of_it() -> None:
    first, last = learned("1", "The user's home is Oslo", "M"), learned("2", "Petra bakes bread", "M")
    assert order(message("M", LONG), first, candidate("x"), last) == ["1", "x", "2", "M"]


def test_a_message_that_says_no_more_is_left_out() -> None:
    assert order(message("M", "I moved to Oslo"), learned("1", "The user moved to Oslo", "M")) == ["1"]


def test_what_two_memories_say_together_may_be_all_of_a_message() -> None:
    told = [learned("1", "The user's home is Oslo", "M"), learned("2", "The dentist of the user moved", "M")]
    assert order(message("M", "My home is Oslo and the dentist moved"), *told) == ["1", "2"]


def test_what_ranks_too_low_to_be_listed_takes_no_place_of_its_message() -> None:
    low = learned("1", "The user moved to Oslo", "M")
    assert order(message("M", "I moved to Oslo"), candidate("x"), low, most=2) == ["M", "x"]


def test_a_message_of_which_nothing_was_learned_stays_where_it_is() -> None:
    assert order(message("M", "I moved"), candidate("x"), learned("1", "The user moved", "N")) == ["M", "x", "1"]


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.one_of(
            st.builds(lambda n: ("message", [n]), st.integers(0, 4)),
            st.builds(lambda of: ("learned", of), st.lists(st.integers(0, 4), min_size=1, max_size=3)),
        ),
        max_size=14,
        unique_by=lambda each: (each[0], each[1][0]) if each[0] == "message" else id(each),
    ),
    st.integers(1, 14),
)
def test_no_message_comes_before_what_was_learned_of_it_and_only_messages_and_repetitions_are_left_out(
    made: list[tuple[str, list[int]]], most: int
) -> None:
    ranked = [
        message(str(of[0]), LONG) if kind == "message" else learned(f"l{place}", "Oslo", *map(str, of))
        for place, (kind, of) in enumerate(made)
    ]
    given = list(learned_first(ranked, most))
    places = {each.id: place for place, each in enumerate(given)}
    for each in given:
        for source in each.sources or ():
            assert places.get(source.removeprefix("m"), len(given)) > places[each.id]
    assert {each.id for each in ranked[:most]} <= {*places}  # nothing of them says all that LONG says


def test_the_best_of_what_was_learned_has_the_rank_and_the_score_of_its_message() -> None:
    query = ParsedQuery("oslo lease", terms("oslo lease"))
    told = pool(
        message("M", LONG, words=(0, 1)),
        learned("1", "The flat is signed", "M"),
        candidate("x", words=(0,)),
        found={0: 2, 1: 1},
    )
    fusion = Fusion(query, told)
    assert [each.id for each in fusion.ranked] == ["1", "M", "x"]
    assert fusion.learned == {"M": "1"}


@pytest.mark.parametrize("own", [(), (0,), (0, 1)])
def test_synonyms_cover_at_most_half_of_what_the_own_words_leave_open(own: tuple[int, ...]) -> None:
    query = ParsedQuery("car garage", terms("car garage"), synonyms=[Term("automobile"), Term("shed"), Term("van")])
    one = pool(candidate("1", words=(*own, 2, 3, 4)), memories=500)
    covered = Lexical().measure(one, query, Lexical().score(one, query, {}))["1"]
    more = Synonyms().measure(one, query, {}).get("1", 0.0)
    assert more == pytest.approx(0.5 * max(1.0 - covered, 0.0), abs=0.02)


def test_without_synonyms_the_words_of_the_query_count_as_they_do() -> None:
    plain, more = (
        ParsedQuery("car", terms("car"), synonyms=synonyms) for synonyms in ((), synonym_terms(["van"], terms("car")))
    )
    one = pool(candidate("1", words=(0,)), candidate("2", words=(0, 1)), memories=500)
    assert Lexical().score(one, plain, {}) == Lexical().score(one, more, {})
    assert Synonyms().score(one, plain, {}) == {}


def test_synonyms_are_words_or_short_phrases_each_once_and_no_words_of_the_query() -> None:
    given = ["Van", "van", "car", "the", "", '" OR *', "a very long sentence that is no synonym of anything at all"]
    assert [each.text for each in synonym_terms([*given, "delivery van"], terms("car"))] == ["van", "delivery van"]
    assert len(synonym_terms([f"word{number}" for number in range(99)], ())) == MAX_SYNONYMS
