"""Scores that can be cut at: what a score depends on, and what it does not."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.embedding import CosineScale
from app.domain.query import Query
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Pool, ScopeStats
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.periods import Period
from app.retrieval.query.terms import terms
from app.retrieval.search import Search
from tests.retrieval.pools import bits, candidate, pool
from tests.support.generation import examples

TEXT = "red fox bear"
QUERY = ParsedQuery(TEXT, terms(TEXT))
SCALE = CosineScale(unrelated=0.05, spread=0.08, related=0.6)
shares = st.floats(-0.2, 1.0)
words = st.sets(st.integers(0, 2)).map(tuple)


def likelihood(cosine: float = 0.4, has: tuple[int, ...] = (0,), session_id: str | None = None) -> float:
    found = pool(candidate("a", words=has, session_id=session_id), found=dict.fromkeys(has, 1), cosines={"a": cosine})
    return Fusion(QUERY, found).likelihoods["a"]


def among(others: int, cosine: float, has: tuple[int, ...]) -> float:
    """Score a memory beside others, some of which are nearer and some of which have a word of the query."""
    beside = [candidate(f"n{n}", f"text {n}", words=(n % 3,) if n % 7 == 0 else ()) for n in range(others)]
    cosines = {"a": cosine} | {each.id: n / 90 for n, each in enumerate(beside)}
    stats = ScopeStats(1 + others, {str(term): 1 for term in has})
    found = Pool.of([candidate("a", words=has), *beside], stats, cosines)
    return Search(Fusion(QUERY, found), []).score(found.candidates["a"])


@settings(deadline=None, max_examples=examples(60))
@given(cosine=shares, has=words, others=st.sampled_from([1, 10, 60]))
def test_the_more_others_there_are_the_less_the_same_evidence_says(
    cosine: float, has: tuple[int, ...], others: int
) -> None:
    assert among(others, cosine, has) <= among(0, cosine, has) + 1e-9


@settings(deadline=None, max_examples=examples(60))
@given(low=shares, high=shares, has=words, session_id=st.sampled_from([None, "s"]))
def test_what_is_nearer_is_likelier_and_what_is_nearly_as_near_is_nearly_as_likely(
    low: float, high: float, has: tuple[int, ...], session_id: str | None
) -> None:
    low, high = sorted((low, high))
    less, more = (likelihood(cosine, has, session_id=session_id) for cosine in (low, high))
    assert less <= more
    assert more - less <= 6 * (high - low) + 0.02


@settings(deadline=None, max_examples=examples(60))
@given(cosine=shares, has=words, word=st.integers(0, 2), session_id=st.sampled_from([None, "s"]))
def test_what_contains_another_word_of_the_query_is_likelier(
    cosine: float, has: tuple[int, ...], word: int, session_id: str | None
) -> None:
    found = {0: 2, 1: 2, 2: 2}
    pair = [candidate("a", words=has, session_id=session_id), candidate("b", words=(*has, word), session_id=session_id)]
    pair[1].words = pair[0].words | bits([word])
    got = Fusion(QUERY, pool(*pair, found=found, cosines={"a": cosine, "b": cosine})).likelihoods
    assert got["a"] <= got["b"]


@settings(deadline=None, max_examples=examples(60))
@given(cosine=st.floats(0.0, 1.0), has=words, shift=st.floats(-0.3, 0.3), stretch=st.floats(0.1, 2.0))
def test_the_level_and_the_spread_of_an_embedders_cosines_do_not_matter(
    cosine: float, has: tuple[int, ...], shift: float, stretch: float
) -> None:
    def moved(value: float) -> float:
        return value * stretch + shift

    other = CosineScale(moved(SCALE.unrelated), SCALE.spread * stretch, moved(SCALE.related))

    def of(scale: CosineScale, *cosines: float) -> Mapping[str, float]:
        candidates = [candidate("a", words=has), candidate("b")]
        stats = ScopeStats(2, {str(term): 1 for term in has})
        found = Pool.of(candidates, stats, dict(zip("ab", cosines, strict=True)), scale)
        return Fusion(QUERY, found).likelihoods

    here = of(SCALE, cosine, cosine / 2)
    assert of(other, moved(cosine), moved(cosine / 2)) == pytest.approx(here, abs=1e-6)


@settings(deadline=None, max_examples=examples(60))
@given(cosine=shares, has=words)
def test_an_exact_copy_of_a_memory_does_not_lower_its_score(cosine: float, has: tuple[int, ...]) -> None:
    def score(number: int) -> float:
        same = [candidate(str(n), words=has) for n in range(number)]
        stats = ScopeStats(number, dict.fromkeys(map(str, has), number))
        found = Pool.of(same, stats, {each.id: cosine for each in same})
        return Search(Fusion(QUERY, found), []).score(found.candidates["0"])

    assert score(2) >= score(1) - 1e-9


def test_a_memory_is_not_likely_for_being_alone() -> None:
    assert likelihood(cosine=0.1, has=()) < 0.3 < likelihood(cosine=0.7, has=(0, 1, 2))
    assert likelihood(cosine=0.1, has=(), session_id="s") < 0.3 < likelihood(cosine=0.9, has=(0, 1, 2), session_id="s")


def test_where_nothing_speaks_for_a_memory_it_has_no_likelihood_at_all() -> None:
    assert likelihood(cosine=0.04, has=()) == likelihood(cosine=-1, has=(), session_id="s") == 0


def test_a_query_that_names_who_speaks_makes_their_turns_likelier() -> None:
    query = ParsedQuery("What of the fox, Ann?", terms("fox"))
    turns = [candidate("a", "Ann: the fox", session_id="s"), candidate("b", "Bob: the fox", session_id="t")]
    for each in turns:
        each.words = bits([0])
    got = Fusion(query, pool(*turns, found={0: 2}, cosines={"a": 0.3, "b": 0.3})).likelihoods
    assert got["a"] > got["b"]


def test_a_scale_without_a_gap_takes_all_weight_from_its_cosines() -> None:
    blind = CosineScale(unrelated=0.1, spread=0.1, related=0.1)
    assert abs(blind.nearness(1.0)) < 1e-3
    hardly = replace(SCALE, related=0.1)
    assert hardly.nearness(0.6) < SCALE.nearness(0.6) == pytest.approx(1.0)
    assert math.isclose(SCALE.nearness(0.05), 0)


@pytest.mark.parametrize("formers", [1, 16, 40])
def test_what_a_memory_has_replaced_does_not_lower_its_score(formers: int) -> None:
    whole = (0, 1, 2)
    others = [candidate(f"n{number}", f"text {number}", words=(0,)) for number in range(20)]
    old = [
        candidate(f"o{number}", f"was {number}", words=whole, superseded=True, current="new")
        for number in range(formers)
    ]
    new = candidate("new", "is", words=whole)
    alone, beside = (Search(Fusion(QUERY, pool(new, *others, *former)), []) for former in ([], old))
    assert beside.score(new) == pytest.approx(alone.score(new), abs=1e-3)


def test_a_score_does_not_hang_on_how_many_candidates_were_gathered() -> None:
    def confidence(count: int) -> float:
        gathered = [candidate(str(number), f"text {number}", words=(0,)) for number in range(count)]
        cosines = {one.id: 0.6 - number / 200 for number, one in enumerate(gathered)}
        return Search(Fusion(QUERY, pool(*gathered, memories=5_000, cosines=cosines)), []).confidence

    assert confidence(80) == pytest.approx(confidence(60), abs=0.01)


def test_what_is_decades_away_from_the_time_that_is_asked_for_is_nothing_found() -> None:
    day = 86_400_000
    query = ParsedQuery("", periods=[Period(0, day, "then")])
    for years in (13.8, 14.1, 14.3, 60):
        search = Search(Fusion(query, pool(candidate("a", happened_at=int(years * 365 * day)))), [])
        entry = search.entry(search.fusion.ranked[0], Query("fox", explain=True))
        assert (entry.score, [finding.weighted for finding in entry.findings]) == (0, [])
