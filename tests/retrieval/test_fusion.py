"""How candidates are scored: the channels, the cues and their sum."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.query import PARTS, Part
from app.ports.vector_index import Hit
from app.retrieval.channels import lexical, neighbours, vector
from app.retrieval.confidence import confidence
from app.retrieval.fusion import Asked, Fusion, Recency
from app.retrieval.pool import Pool
from app.retrieval.query.periods import Period, lift
from app.retrieval.query.terms import terms
from app.retrieval.search import Search
from tests.retrieval.pools import candidate, pool, pools, session

DAY = 86_400_000
TEXT = "What did Ann say of the red fox and the bear in November 2023?"
ASKED = Asked(TEXT, terms(TEXT), [Period(1_699_000_000_000, 1_701_000_000_000, "November 2023")])
drawn = pools(len(ASKED.terms))


def fused(gathered: tuple[Pool, dict[str, float]], *without: Part) -> Fusion:
    return Fusion(ASKED, *gathered, without)


def found_by(fusion: Fusion, id_: str) -> dict[str, float]:
    return {finding.channel: finding.weighted for finding in fusion.findings(id_)}


@settings(deadline=None, max_examples=60)
@given(gathered=drawn, without=st.sets(st.sampled_from(PARTS)))
def test_what_is_weighted_adds_up_to_the_score(gathered: tuple[Pool, dict[str, float]], without: set[Part]) -> None:
    fusion = Fusion(ASKED, *gathered, without)
    for id_ in fusion.pool.candidates:
        assert sum(found_by(fusion, id_).values()) == pytest.approx(fusion.scores[id_], abs=1e-9)
        assert not set(found_by(fusion, id_)) & without
        assert all(weighted > 0 for weighted in found_by(fusion, id_).values())


# What a part is built on does not change when it is left out.
BELOW: dict[Part, set[str]] = {
    "lexical": {"vector"},
    "vector": {"lexical"},
    "context": {"vector"},
    "smoothing": {"lexical", "vector"},
    "session": {"lexical", "vector", "smoothing"},
    "names": {"lexical", "vector", "smoothing", "session"},
    "time": {"lexical", "vector", "smoothing", "session", "names"},
}


@settings(deadline=None, max_examples=60)
@given(gathered=drawn, part=st.sampled_from(PARTS))
def test_a_part_that_is_left_out_takes_its_own_share_with_it(
    gathered: tuple[Pool, dict[str, float]], part: Part
) -> None:
    with_it, without_it = fused(gathered), fused(gathered, part)
    for id_ in with_it.pool.candidates:
        before, after = found_by(with_it, id_), found_by(without_it, id_)
        assert {name: before.get(name) for name in BELOW[part]} == {name: after.get(name) for name in BELOW[part]}
        # Words are measured by the most that any memory covers, which is less without what is beside it.
        assert part == "context" or without_it.scores[id_] <= with_it.scores[id_] + 1e-9


@settings(deadline=None, max_examples=60)
@given(gathered=drawn)
def test_entries_are_scored_from_0_to_1_and_come_best_first_of_equals_the_newest(
    gathered: tuple[Pool, dict[str, float]],
) -> None:
    fusion = fused(gathered)
    sure = confidence(fusion)
    assert 0 <= sure <= 1
    search = Search(fusion, [])
    entries = [search.entry(each, explain=True) for each in fusion.ranked]
    places = [(-entry.score, -entry.created_at) for entry in entries]
    assert all(0 <= entry.score <= 1 for entry in entries)
    assert [score for score, _ in places] == sorted(score for score, _ in places)
    ranked = [(-fusion.scores[each.id], -each.created_at) for each in fusion.ranked]
    assert ranked == sorted(ranked)
    for entry in entries:
        assert sum(finding.weighted for finding in entry.findings) == pytest.approx(entry.score, abs=1e-9)
    assert not any(fusion.scores.values()) or entries[0].score == pytest.approx(sure)


@settings(deadline=None, max_examples=30)
@given(gathered=pools(0))
def test_where_nothing_is_found_there_is_no_confidence_at_all(gathered: tuple[Pool, dict[str, float]]) -> None:
    assert confidence(Fusion(Asked("", ()), gathered[0], {})) == 0
    assert confidence(Fusion(ASKED, Pool({}), {"gone": 1.0})) == 0


def test_a_recall_is_the_surer_the_nearer_its_best_is_and_the_more_of_the_query_it_covers() -> None:
    def sure(cosine: float = 0.5, words: tuple[int, ...] = (0,)) -> float:
        asked = Asked("fox bear", terms("fox bear"))
        found = pool(candidate("a", words=words), *(candidate(str(n)) for n in range(12)), found={0: 1, 1: 1})
        return confidence(Fusion(asked, found, {"a": cosine} | {str(n): 0.3 - n / 100 for n in range(12)}))

    assert sure(cosine=0.3) < sure() < sure(cosine=0.9)
    assert sure(words=()) < sure() < sure(words=(0, 1))


def test_of_equal_scores_the_newest_comes_first() -> None:
    found = pool(*(candidate(str(n), created_at=n % 3, words=(0,)) for n in range(6)), found={0: 6})
    fusion = Fusion(Asked("fox", terms("fox")), found, {})
    assert len(set(fusion.scores.values())) == 1
    assert [each.id for each in fusion.ranked] == ["5", "2", "4", "1", "3", "0"]


def test_words_and_meaning_are_both_counted_and_neither_is_needed() -> None:
    found = pool(candidate("both", words=(0,)), candidate("word", words=(0,)), candidate("meaning"), candidate("none"))
    cosines = {"both": 0.8, "meaning": 0.8, "none": 0.1}
    fusion = Fusion(Asked("fox", terms("fox")), Pool(found.candidates, 10, 100.0, {0: 2}), cosines)
    both, word, meaning, none = (fusion.scores[id_] for id_ in ("both", "word", "meaning", "none"))
    assert both == pytest.approx(word + meaning)
    assert none == 0
    assert min(word, meaning) > 0
    assert [finding.rank for finding in fusion.findings("meaning")] == [1]


def test_a_word_weighs_its_inverse_document_frequency_and_one_of_every_memory_nearly_nothing() -> None:
    counted = pool(memories=10, found={0: 10, 1: 1, 2: 0, 3: 5})
    everywhere, once, nowhere, half = lexical.weights(counted, 4)
    assert everywhere == pytest.approx(math.log(1 + 0.5 / 10.5))
    assert once == pytest.approx(math.log(1 + 9.5 / 1.5))
    assert nowhere == pytest.approx(math.log(22))
    assert half == pytest.approx(math.log(2))
    assert everywhere < once / 40
    assert lexical.weights(pool(memories=10, found={0: 30}), 1) == [pytest.approx(everywhere)]  # counted a moment later


def test_a_memory_of_mean_length_counts_a_word_whole_a_shorter_one_more_and_a_longer_one_less() -> None:
    found = pool(
        candidate("mean", words=(0, 1)),
        candidate("short", words=(0,), bytes=1),
        candidate("long", words=(0,), bytes=1000),
        candidate("without"),
    )
    covered = lexical.scores(found, [2.0, 0.5])
    assert covered["mean"] == pytest.approx(2.5)
    assert covered["long"] < 2 < covered["short"]
    assert covered["without"] == 0


def test_a_word_beside_a_memory_counts_half_two_steps_away_a_quarter_and_never_twice() -> None:
    found = pool(*session("", "", "", "", ""))
    found.candidates["0"].words = (0,)
    assert lexical.scores(found, [1.0]) == pytest.approx({"0": 1, "1": 0.5, "2": 0.25, "3": 0, "4": 0})
    assert lexical.scores(found, [1.0], context=False) == pytest.approx({"0": 1, "1": 0, "2": 0, "3": 0, "4": 0})
    found.candidates["2"].words = (0,)
    found.candidates["1"].words = (0,)
    assert lexical.scores(found, [1.0])["1"] == pytest.approx(1)
    found.candidates["3"].bytes = 700  # twice as long as what takes all from beside it
    assert lexical.scores(found, [1.0])["3"] == pytest.approx(0.25)


def test_a_memory_that_is_no_candidate_breaks_the_chain_of_its_session() -> None:
    first, _, third = session("", "", "")
    first.words = (0,)
    assert lexical.scores(pool(first, third), [1.0]) == pytest.approx({"0": 1, "2": 0})


def test_a_memory_is_lent_what_the_better_of_its_neighbours_has() -> None:
    found = pool(*session("", "", "", bytes=350), candidate("alone"))
    scores = {"0": 0.2, "1": 0.5, "2": 0.1, "alone": 0.9}
    assert neighbours.lent(found, scores) == pytest.approx({"0": 0.5, "1": 0.2, "2": 0.5, "alone": 0})
    found.candidates["1"].bytes = 700
    assert neighbours.lent(found, scores)["1"] == pytest.approx(0.1)
    assert [neighbours.openness(candidate("a", bytes=size)) for size in (0, 350, 3500)] == pytest.approx([1, 1, 0.1])


def test_a_session_is_worth_the_mean_of_its_best_three() -> None:
    found = pool(*session("", "", "", ""), candidate("pair", session_id="t"), candidate("alone"))
    scores = {"0": 0.9, "1": 0.6, "2": 0.3, "3": 0.1, "pair": 0.9, "alone": 0.9}
    of_sessions = neighbours.of_sessions(found, scores)
    assert of_sessions == pytest.approx({"0": 0.6, "1": 0.6, "2": 0.6, "3": 0.6, "pair": 0.3, "alone": 0})


def test_the_nearest_hit_has_one_point_the_last_none_and_others_as_much_as_they_are_near() -> None:
    hits = [Hit("a", 0.8), Hit("b", 0.65), Hit("c", 0.6), Hit("d", 0.4)]
    assert dict(vector.points(hits)) == pytest.approx({"a": 1, "b": 0.625, "c": 0.5, "d": 0})
    assert vector.points([Hit("a", 0.2), Hit("b", 0.2)]) == [("a", 1), ("b", 1)]
    assert vector.points([]) == []


def test_of_vectors_whose_memory_is_gone_no_other_has_less() -> None:
    assert vector.scores({"gone": 0.9, "a": 0.5, "b": 0.4, "c": 0.3}, {"a", "b", "c", "d"}) == pytest.approx(
        {"a": 1, "b": 0.5, "c": 0}
    )
    many = {str(n): 1 - n / 1000 for n in range(vector.DEPTH + 20)}
    assert len(vector.scores(many, many)) == vector.DEPTH


def test_what_lies_in_a_period_is_lifted_whole_and_what_is_near_it_less() -> None:
    may = Period(100 * DAY, 131 * DAY, "May")
    assert [lift([may], moment) for moment in (100 * DAY, 131 * DAY - 1)] == [1, 1]
    assert lift([may], 93 * DAY) == lift([may], 138 * DAY - 1) == pytest.approx(math.exp(-1))
    assert lift([may], 131 * DAY) > lift([may], 132 * DAY) > lift([may], 400 * DAY)
    assert lift([], 0) == 0
    assert lift([may, Period(0, DAY, "then")], 5) == 1


def test_a_preference_for_recent_memories_halves_with_their_age() -> None:
    recency = Recency(reference=10_000, half_life=1_000)
    assert [recency.of(moment) for moment in (11_000, 10_000, 9_000, 8_000)] == [1, 1, 0.5, 0.25]
