"""How candidates are scored: the channels, the cues and their sum."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.query import Query
from app.ports.vector_index import Hit
from app.retrieval.channels import CHANNELS, lexical, vector
from app.retrieval.channels.date import chosen_reading, lift
from app.retrieval.channels.neighbours import Beside, OfSession
from app.retrieval.channels.vector import Vector
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery, Recency
from app.retrieval.query.periods import Period
from app.retrieval.query.terms import terms
from app.retrieval.search import Search
from app.retrieval.weights import WEIGHTS
from bench.ablation import PARTS, channels_without
from tests.retrieval.pools import bits, candidate, pool, pools, session
from tests.support.generation import examples

DAY = 86_400_000
TEXT = "What did Ann say of the red fox and the bear in November 2023?"
QUERY = ParsedQuery(TEXT, terms(TEXT), periods=[Period(1_699_000_000_000, 1_701_000_000_000, "November 2023")])
NOTHING = ParsedQuery("")
drawn = pools(len(QUERY.terms))


def fused(gathered: Pool, *without: str) -> Fusion:
    return Fusion(QUERY, gathered, channels_without(without))


def found_by(fusion: Fusion, id_: str) -> dict[str, float]:
    return {finding.channel: finding.weighted for finding in fusion.findings(id_)}


def test_the_base_of_a_kind_counts_only_where_anything_was_compared_by_meaning() -> None:
    note = candidate("note", words=(0, 1))
    for cosines, base in (({"note": 0.4}, WEIGHTS.note.base), ({}, 0.0)):
        fusion = fused(pool(note, found={0: 1, 1: 1}, cosines=cosines))
        assert fusion.scores["note"] == pytest.approx(fusion.found["note"] + base)
    assert WEIGHTS.note.base < 0


def test_no_two_channels_have_one_name_or_one_section() -> None:
    names = [channel.name for channel in CHANNELS]
    sections = [channel.section for channel in CHANNELS if channel.section is not None]
    assert (len(set(names)), len(set(sections))) == (len(names), len(sections))
    of_a_model = {"synonyms", "hyde", "learned"}
    assert {*PARTS, "recency"} | of_a_model == {*names, "context"}


@settings(deadline=None, max_examples=examples(60))
@given(gathered=drawn, without=st.sets(st.sampled_from(PARTS)))
def test_what_is_weighted_adds_up_to_what_was_found(gathered: Pool, without: set[str]) -> None:
    fusion = fused(gathered, *without)
    for id_ in fusion.pool.candidates:
        assert sum(found_by(fusion, id_).values()) == pytest.approx(fusion.found[id_], abs=1e-9)
        assert not set(found_by(fusion, id_)) & without
        assert all(weighted > 0 for weighted in found_by(fusion, id_).values())


# What a part is built on does not change when it is left out.
BELOW: dict[str, set[str]] = {
    "lexical": {"vector"},
    "vector": {"lexical"},
    "context": {"vector"},
    "key": {"lexical", "vector"},
    "beside": {"lexical", "vector", "key"},
    "session": {"lexical", "vector", "key", "beside"},
    "names": {"lexical", "vector", "key", "beside", "session"},
    "time": {"lexical", "vector", "key", "beside", "session", "names"},
    "numbers": {"lexical", "vector", "key", "beside", "session", "names", "time"},
}


@settings(deadline=None, max_examples=examples(60))
@given(gathered=drawn, part=st.sampled_from(PARTS))
def test_a_part_that_is_left_out_takes_its_own_share_with_it(gathered: Pool, part: str) -> None:
    with_it, without_it = fused(gathered), fused(gathered, part)
    for id_ in with_it.pool.candidates:
        before, after = found_by(with_it, id_), found_by(without_it, id_)
        assert {name: before.get(name) for name in BELOW[part]} == {name: after.get(name) for name in BELOW[part]}
        assert without_it.scores[id_] <= with_it.scores[id_] + 1e-9


@settings(deadline=None, max_examples=examples(60))
@given(gathered=drawn)
def test_entries_are_scored_from_0_to_1_and_come_in_the_order_of_their_scores_of_equals_the_newest(
    gathered: Pool,
) -> None:
    fusion = fused(gathered)
    search = Search(fusion, [])
    assert 0 <= search.confidence <= 1
    entries = [search.entry(each, Query("fox", explain=True)) for each in fusion.ranked]
    assert all(0 <= entry.score <= 1 for entry in entries)
    ranked = [(-fusion.scores[each.id], -each.created_at) for each in fusion.ranked]
    assert ranked == sorted(ranked)
    assert [entry.score for entry in entries] == sorted((entry.score for entry in entries), reverse=True)
    for entry in entries:
        shares = sum(finding.weighted for finding in entry.findings)
        assert not entry.findings or shares == pytest.approx(entry.score, abs=1e-9)
    assert search.confidence == max((entry.score for entry in entries), default=0)


@settings(deadline=None, max_examples=examples(30))
@given(gathered=pools(0))
def test_where_nothing_is_found_there_is_no_confidence_at_all(
    gathered: Pool,
) -> None:
    assert Search(Fusion(NOTHING, replace(gathered, cosines={})), []).confidence == 0
    assert Search(Fusion(QUERY, pool(cosines={"gone": 1.0})), []).confidence == 0


def test_of_equal_scores_the_newest_comes_first() -> None:
    found = pool(*(candidate(str(n), created_at=n % 3, words=(0,)) for n in range(6)), found={0: 6})
    fusion = Fusion(ParsedQuery("fox", terms("fox")), found)
    assert len(set(fusion.scores.values())) == 1
    assert [each.id for each in fusion.ranked] == ["5", "2", "4", "1", "3", "0"]


def test_words_and_meaning_are_both_counted_and_neither_is_needed() -> None:
    found = pool(
        candidate("both", words=(0,)),
        candidate("word", words=(0,)),
        candidate("meaning"),
        candidate("none"),
        found={0: 2},
        cosines={"both": 0.6, "meaning": 0.6, "none": 0.01},
    )
    fusion = Fusion(ParsedQuery("fox", terms("fox")), found)
    both, word, meaning, none = (fusion.found[id_] for id_ in ("both", "word", "meaning", "none"))
    assert both == pytest.approx(word + meaning)
    assert none == 0
    assert min(word, meaning) > 0
    assert [(finding.channel, finding.rank) for finding in fusion.findings("meaning")] == [("vector", 1)]


def test_a_word_weighs_the_less_the_more_memories_contain_it_and_below_1_in_80_all_weigh_the_same() -> None:
    counted = pool(memories=10_000, found={0: 10_000, 1: 1, 2: 0, 3: 5000, 4: 124})
    everywhere, once, nowhere, half, rare = lexical.term_weights(counted, 5)
    assert once == nowhere == rare == pytest.approx(math.log(81))
    assert half == pytest.approx(math.log(3), rel=1e-3)
    assert everywhere == pytest.approx(math.log(2), rel=1e-3)


def test_in_a_small_scope_a_word_weighs_what_it_would_among_two_hundred_memories() -> None:
    found = {0: 1, 1: 2, 2: 10}
    alone = lexical.term_weights(pool(memories=10, found=found), 3)
    assert alone == lexical.term_weights(pool(memories=200, found=found), 3)
    assert alone[0] == alone[1] > alone[2]


def test_a_memory_of_usual_length_counts_a_word_whole_a_shorter_one_more_and_a_longer_one_less() -> None:
    found = pool(
        candidate("usual", words=(0, 1), bytes=130),
        candidate("short", words=(0,), bytes=1),
        candidate("long", words=(0,), bytes=1000),
        candidate("without"),
    )
    covered = lexical.coverages(found, [2.0, 0.5])
    assert covered["usual"] == pytest.approx(2.5)
    assert covered["long"] < 2 < covered["short"]
    assert covered["without"] == 0


def test_a_word_beside_a_memory_counts_less_two_steps_away_half_of_that_and_never_twice() -> None:
    found = pool(*session("", "", "", "", "", bytes=130))
    found.candidates["0"].words = bits([0])
    assert lexical.coverages(found, [1.0]) == pytest.approx({"0": 1, "1": 0.65, "2": 0.325, "3": 0, "4": 0})
    assert lexical.coverages(found, [1.0], context=False) == pytest.approx({"0": 1, "1": 0, "2": 0, "3": 0, "4": 0})
    found.candidates["2"].words = bits([0])
    found.candidates["1"].words = bits([0])
    assert lexical.coverages(found, [1.0])["1"] == pytest.approx(1)
    found.candidates["3"].bytes = 700  # twice as long as what takes all from beside it
    assert lexical.coverages(found, [1.0])["3"] == pytest.approx(0.325)


def test_a_memory_that_is_no_candidate_breaks_the_chain_of_its_session() -> None:
    first, _, third = session("", "", "")
    first.words = bits([0])
    assert lexical.coverages(pool(first, third), [1.0])["2"] == 0


def test_a_turn_has_a_share_of_its_better_neighbour_and_of_the_best_three_of_its_session_a_note_of_neither() -> None:
    found = pool(*session("", "", "", "", bytes=350), candidate("pair", session_id="t"), candidate("alone"))
    scores = {"0": 0.9, "1": 0.6, "2": 0.3, "3": 0.1, "pair": 0.9, "alone": 0.9}
    beside = {"0": 0.6, "1": 0.9, "2": 0.6, "3": 0.3, "pair": 0.0}
    assert Beside().score(found, NOTHING, scores) == pytest.approx(beside)
    assert OfSession().score(found, NOTHING, scores) == pytest.approx(dict.fromkeys("0123", 0.6) | {"pair": 0.3})
    found.candidates["1"].bytes = 700
    assert Beside().score(found, NOTHING, scores)["1"] == pytest.approx(0.45)
    assert [candidate("a", bytes=size).length_damping for size in (0, 350, 3500)] == pytest.approx([1, 1, 0.1])


def test_the_nearest_hit_has_one_point_the_last_none_and_others_as_much_as_they_are_near() -> None:
    hits = [Hit("a", 0.8), Hit("b", 0.65), Hit("c", 0.6), Hit("d", 0.4)]
    assert vector.points(hits) == [["a", 1], ["b", pytest.approx(0.625)], ["c", pytest.approx(0.5)], ["d", 0]]
    assert vector.points([Hit("a", 0.2), Hit("b", 0.2)]) == [["a", 1], ["b", 1]]
    assert vector.points([]) == []


def test_a_cosine_counts_from_that_of_unrelated_texts_on_and_no_further_than_one_and_a_half_answers() -> None:
    found = pool(*(candidate(id_) for id_ in "abcde"), cosines={"a": 0.6, "b": 0.325, "c": 0.05, "d": -0.4, "e": 0.99})
    near = Vector().score(found, NOTHING, {})
    assert near == pytest.approx({"a": 1, "b": 0.5, "e": 1.5})


def test_what_is_not_among_the_nearest_that_an_index_gives_counts_as_the_last_of_them() -> None:
    cosines = {str(n): 0.4 - n / 1000 for n in range(vector.DEPTH + 20)}
    found = pool(*(candidate(id_) for id_ in cosines), candidate("unknown"), cosines=cosines)
    scores = Vector().score(found, NOTHING, {})
    last = scores[str(vector.DEPTH - 1)]
    assert scores["0"] > last > 0
    assert {scores[str(n)] for n in range(vector.DEPTH, vector.DEPTH + 20)} | {scores["unknown"]} == {last}
    assert len(vector.nearness(found)) == vector.DEPTH  # what a score is made of is known


def test_where_an_index_has_given_all_that_it_has_a_memory_without_a_vector_counts_nothing() -> None:
    found = pool(candidate("near"), candidate("unknown"), cosines={"near": 0.5})
    assert set(Vector().score(found, NOTHING, {})) == {"near"}


def test_a_cosine_is_the_same_before_and_after_its_vector_leaves_the_outbox() -> None:
    shown = [Hit("a", 0.81), Hit("b", 0.4)]
    queued = {"a": 0.8099, "b": 0.9, "new": 0.3}  # rounded; another vector than the index shows; not shown yet
    assert vector.cosines_of(shown, queued, exact=True) == {"a": 0.81, "b": 0.9, "new": 0.3}
    assert vector.cosines_of(shown, {}, exact=True) == {"a": 0.81, "b": 0.4}
    assert vector.cosines_of(shown, queued, exact=False) == {"a": 0.81, "b": 0.4} | queued


def test_what_lies_in_a_period_is_lifted_whole_and_what_is_near_it_less() -> None:
    may = (100 * DAY, 131 * DAY)
    assert [lift([may], moment) for moment in (100 * DAY, 131 * DAY - 1)] == [1, 1]
    assert lift([may], 93 * DAY) == lift([may], 138 * DAY - 1) == pytest.approx(math.exp(-1))
    assert lift([may], 131 * DAY) > lift([may], 132 * DAY) > lift([may], 400 * DAY)
    assert lift([], 0) == 0
    assert lift([may, (0, DAY)], 5) == 1


def test_a_period_without_a_year_is_the_latest_in_which_a_memory_happened() -> None:
    may = Period(900, 931, "May", earlier=((535, 566), (170, 201)))
    assert chosen_reading(may, [180, 540]) == (535, 566)
    assert chosen_reading(may, [180, 540, 910]) == (900, 931)
    assert chosen_reading(may, [180]) == (170, 201)
    assert chosen_reading(may, [1, 600]) == chosen_reading(may, []) == (900, 931)


def test_a_preference_for_recent_memories_halves_with_their_age() -> None:
    recency = Recency(reference=10_000, half_life=1_000)
    assert [recency.of(moment) for moment in (11_000, 10_000, 9_000, 8_000)] == [1, 1, 0.5, 0.25]


def test_what_only_asks_comes_behind_what_answers_and_takes_nothing_of_its_likelihood() -> None:
    asked, told = candidate("asked", "Where is the red fox?", words=(0, 1, 2)), candidate("told", "the fox", words=(1,))
    found = dict.fromkeys(range(3), 1)
    both = Fusion(QUERY, pool(asked, told, found=found))
    assert [each.id for each in both.ranked] == ["told", "asked"]
    alone = Fusion(QUERY, pool(told, found=found))
    assert both.likelihoods["told"] == pytest.approx(alone.likelihoods["told"], abs=0.02)
    said = candidate("asked", "Where is the red fox? In the barn.", words=(0, 1, 2))
    assert [each.id for each in Fusion(QUERY, pool(said, told, found=found)).ranked] == ["asked", "told"]
