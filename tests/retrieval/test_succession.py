"""What holds takes the place of what it supersedes, in order and in score."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Query
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.terms import terms
from app.retrieval.search import Search
from app.retrieval.succession import succeeded
from tests.retrieval.pools import candidate, pool, pools

TEXT = "red fox bear"
QUERY = ParsedQuery(TEXT, terms(TEXT))
gathered = pools(3)


def searched(*candidates: object, **fields: object) -> Search:
    return Search(Fusion(QUERY, pool(*candidates, **fields)), [])  # type: ignore[arg-type]


@given(found=gathered, scores=st.data())
def test_who_states_what_holds_scores_at_least_as_who_does_not_any_more(found: Pool, scores: st.DataObject) -> None:
    for one in found.candidates.values():
        one.current = scores.draw(st.sampled_from([None, "0", "1", "gone"]))
        one.superseded = one.current is not None
    own = {id_: scores.draw(st.floats(0, 1)) for id_ in found.candidates}
    after = succeeded(found, own)
    holding = {one.current for one in found.candidates.values()}
    assert after.keys() == own.keys()
    for one in found.candidates.values():
        if one.current in found.candidates and one.current is not None and one.id not in holding:
            assert after[one.id] <= after[one.current]
        else:
            assert after[one.id] >= own[one.id]
    assert max(after.values(), default=0) == max(own.values(), default=0)


def test_the_score_of_what_no_longer_holds_is_that_of_what_does() -> None:
    search = searched(
        candidate("old", words=(0, 1, 2), superseded=True, current="new"), candidate("new"), found={0: 1, 1: 1, 2: 1}
    )
    alone = searched(candidate("old", words=(0, 1, 2)), found={0: 1, 1: 1, 2: 1})
    (entry,) = search.ranked(Query(TEXT))
    assert entry.id == "new"
    assert search.score(entry) == pytest.approx(alone.confidence)
    assert search.confidence == search.score(entry)


def test_who_says_more_than_what_is_outdated_is_left_alone_unless_that_is_asked_for() -> None:
    long, new = candidate("long", words=(0, 1, 2), current="new"), candidate("new", words=(0,))
    found = {0: 1, 1: 1, 2: 1}
    assert [one.id for one in searched(long, new, found=found).ranking] == ["long", "new"]
    new.keyed = True
    assert [one.id for one in searched(long, new, found=found).ranking] == ["new", "long"]


def test_what_a_reader_has_found_to_change_goes_before_what_it_changes_which_stays() -> None:
    found = {0: 1, 1: 1, 2: 1}
    old = candidate("old", words=(0, 1, 2), current="new", update=0.9)
    new = candidate("new", words=(0,), current="newest", update=0.9, happened_at=1)
    search = searched(old, new, candidate("newest", happened_at=2), found=found)
    assert [one.id for one in search.ranking] == ["newest", "new", "old"]
    entries = [search.entry(one, Query("fox", explain=True)) for one in search.ranked(Query(TEXT))]
    assert entries[0].score == max(entry.score for entry in entries)
    for entry in entries:
        assert sum(finding.weighted for finding in entry.findings) == pytest.approx(entry.score)
    assert [finding.channel for finding in entries[0].findings][-1] == "succession"


def test_what_takes_the_place_of_what_was_learned_goes_before_its_message_as_well() -> None:
    message = candidate("message", words=(0, 1, 2), message_id="m")
    learned = candidate("learned", words=(0,), sources=["m"], current="new", update=0.9)
    new = candidate("new", message_id="n", happened_at=1)
    search = searched(message, learned, new, candidate("new learned", sources=["n"]), found={0: 1, 1: 1, 2: 1})
    assert [one.id for one in search.ranking] == ["new learned", "new", "message", "learned"]


def test_of_what_scores_alike_the_newer_comes_first() -> None:
    told = [candidate(str(n), words=(0,), happened_at=at) for n, at in enumerate((3, 9, 5))]
    assert [one.id for one in searched(*told, found={0: 3}).ranking] == ["1", "2", "0"]


def test_what_is_superseded_by_nothing_that_may_be_an_entry_is_no_entry_and_no_reason_for_confidence() -> None:
    search = searched(candidate("old", words=(0, 1, 2), superseded=True, current="expired"), found={0: 1, 1: 1, 2: 1})
    assert list(search.ranked(Query(TEXT))) == []
    assert search.confidence == 0


def test_what_states_the_value_that_is_asked_for_comes_before_what_has_as_many_words() -> None:
    search = searched(candidate("a", words=(0,)), candidate("b", words=(0,), keyed=True), found={0: 2})
    assert [one.id for one in search.ranked(Query(TEXT))] == ["b", "a"]
    assert search.score(search.ranking[0]) > search.score(search.ranking[1])
