"""Which candidates stand for others that say the same."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Query
from app.domain.reading import Relation
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate, Pool
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.terms import terms
from app.retrieval.restatements import MAX_PAIRS, LikelyPair, confirmed, pairs
from app.retrieval.search import Search
from app.retrieval.selection import restated
from tests.retrieval.pools import candidate, pools
from tests.services.scripted_reader import HOLDS, RESTATES

TEXT = "red fox bear"
QUERY = ParsedQuery(TEXT, terms(TEXT))
DAY = 86_400_000


def said(*contents: str) -> list[Candidate]:
    """Return candidates with these contents, one said each day."""
    return [candidate(str(n), content, happened_at=n * DAY) for n, content in enumerate(contents)]


def ids(found: Sequence[LikelyPair]) -> list[tuple[str, str]]:
    return [(pair.one.id, pair.other.id) for pair in found]


@given(found=pools(len(QUERY.terms)), chosen=st.data())
def test_each_candidate_is_an_entry_or_belongs_to_one_that_is_not_older(found: Pool, chosen: st.DataObject) -> None:
    search = Search(Fusion(QUERY, found), [])
    every = list(search.ranked(Query(TEXT, 50)))
    drawn = chosen.draw(st.lists(st.sampled_from(list(combinations(every, 2))), max_size=4)) if every[1:] else []
    search = Search(search.fusion, [], restating=drawn)
    query = Query(TEXT, 50, collapse="restatements", explain=True)
    entries = [search.entry(each, query) for each in search.ranked(query)]
    given_once = [id_ for entry in entries for id_ in (entry.id, *(other.id for other in entry.also))]
    assert sorted(given_once) == sorted(each.id for each in every)
    for entry in entries:
        newest = found.candidates[entry.id].happened_at
        assert all(found.candidates[other.id].happened_at <= newest for other in entry.also)
        assert entry.score == max(
            search.score(found.candidates[id_]) for id_ in (entry.id, *(o.id for o in entry.also))
        )
        assert sum(finding.weighted for finding in entry.findings) == pytest.approx(entry.score)
    scores = [entry.score for entry in entries]
    assert scores == sorted(scores, reverse=True)


def test_of_one_wording_the_newest_stands_for_the_others_the_newest_first() -> None:
    old, new, newest = said("The cat is black", "the CAT is  black", "The cat is black")
    assert {id_: [other.id for other in others] for id_, others in restated([old, new, newest]).items()} == {
        "2": ["1", "0"]
    }


def test_what_a_partner_alone_restates_stays_by_itself() -> None:
    first, second, third = said("Ann likes tea", "Ann is fond of tea", "Tea is what Ann likes")
    standing = restated([first, second, third], [(first, second), (second, third)])
    assert {id_: [other.id for other in others] for id_, others in standing.items()} == {"2": ["1"]}


def test_who_may_not_speak_for_a_speaker_stands_for_none_of_its_memories() -> None:
    named: dict[str, Any] = {"metadata": {"speaker": "Ann"}}
    own = candidate("0", "The meetings are held in Oslo", **named)
    for forged in ({"speaker_holds": False}, {"speakers": ["bob"]}):
        copy = candidate("1", own.content, happened_at=DAY, **named, **forged)
        turned = candidate("2", "The meetings get held in the city of Oslo", happened_at=DAY, **named, **forged)
        assert restated([own, copy]) == {}
        assert pairs([own, turned], 5) == []


def test_what_holds_no_longer_stands_for_nothing_and_nothing_for_it() -> None:
    old, new = said("The cat is black", "The cat is black")
    old.superseded = True
    assert restated([old, new]) == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The meeting has 5 guests", "The meeting has 6 guests"),
        ("Ann pays Bob the rent", "Bob pays Ann the rent"),
        ("The garden gate is open", "The garden gate is not open"),
        ("The parcel comes tomorrow", "Tomorrow the parcel comes"),
        ("Is the garden gate open?", "The garden gate is open"),
        ("Ann lives in Oslo", "Ann lives in Rome"),
    ],
)
def test_no_reader_is_asked_of_a_pair_of_which_one_tells_what_the_other_does_not(one: str, other: str) -> None:
    assert pairs(said(one, other), 5) == []


def test_a_reader_is_asked_of_a_pair_in_other_words_of_one_speaker() -> None:
    one, other = said("The meetings are held in Oslo", "The meetings get held in the city of Oslo")
    assert ids(pairs([one, other], 5)) == [("0", "1")]
    other.metadata_json = '{"speaker": "Bob"}'
    by_another = candidate("1", other.content, metadata={"speaker": "Bob"})
    assert pairs([one, by_another], 5) == []


def test_it_is_asked_of_a_pair_of_one_day_that_names_a_day_such_as_tomorrow() -> None:
    one, other = (
        candidate(id_, text) for id_, text in (("0", "The parcel comes tomorrow"), ("1", "Tomorrow comes the parcel"))
    )
    assert ids(pairs([one, other], 5)) == [("0", "1")]


def test_it_is_asked_of_few_pairs_of_the_best_candidates() -> None:
    many = said(*(f"the red fox likes the barn {'very ' * (n % 5)}much" for n in range(40)))
    found = pairs(many, 50)
    assert 0 < len(found) <= MAX_PAIRS
    assert all(pair == ("0", "1") for pair in ids(pairs(many, 1)))
    assert all(int(one) < 24 and int(other) < 24 for one, other in ids(found))


def test_rows_of_programs_facts_and_texts_of_several_sentences_are_no_pairs() -> None:
    text = "The meetings are held in Oslo"
    turned = "The meetings get held in the city of Oslo"
    kept = candidate("0", text, metadata={"store.key": "k"})
    fact = candidate("0", text, metadata={"fact": {"subject": "meetings", "predicate": "are", "object": "Monday"}})
    long = candidate("0", f"{text}. Bring the papers.")
    unread = candidate("0", "会議は月曜日です")
    other = candidate("1", turned)
    assert pairs([kept, other], 5) == pairs([long, other], 5) == pairs([unread, other], 5) == []
    assert fact.statement.is_fact
    assert pairs([fact, other], 5) == []


def test_a_reader_has_to_be_sure_both_ways() -> None:
    one, other = candidate("0"), candidate("1")
    pair = LikelyPair(one, other, sure=0.9)
    assert confirmed([pair], [RESTATES, RESTATES]) == [(one, other)]
    assert confirmed([pair], [RESTATES, HOLDS]) == confirmed([pair], [HOLDS, RESTATES]) == []


def test_it_may_be_less_sure_where_only_words_without_meaning_of_their_own_differ() -> None:
    (pair,) = pairs(said("The user prefers dark mode", "User prefers a dark mode"), 5)
    (other,) = pairs(said("The user prefers dark mode", "The user prefers dark mode everywhere"), 5)
    assert pair.sure < other.sure
    for one, another in (
        ("The keys are under the mat", "The keys are on the mat"),
        ("The backup is in internal storage", "The backup is in international storage"),
    ):
        (elsewhere,) = pairs(said(one, another), 5)
        assert elsewhere.sure == other.sure
    perhaps = Relation(0.2, 0.1, 0.1, 0.6)
    assert confirmed([pair], [perhaps, perhaps]) == [(pair.one, pair.other)]
    assert confirmed([other], [perhaps, perhaps]) == []
