"""Lengths of time: computed of the days that sentences which answer tell, and not claimed where these are not clear."""

import pytest

from app.domain.errors import ReaderUnavailable
from app.domain.query import Entry
from app.services.answering.choosing import SURE_SHARE
from tests.services.answering.made import answer, entry, lines, noon
from tests.services.scripted_reader import THRESHOLDS, ScriptedReader

MARATHON = entry("I ran the marathon today, four hours flat!", "2026-03-12", id_="marathon")
CAT = entry("We adopted a cat today.", "2026-04-02", id_="cat")
KAYAK = entry("I bought a kayak.", "2026-05-10", id_="kayak")
SURGERY = entry("The surgery was on 11 May 2026.", "2026-05-12", id_="surgery")
LEASE = entry("We signed the lease on 20 February 2026.", "2026-03-02", id_="lease")
TEST = entry("My driving test is on 3 June.", "2026-05-04", id_="test")
HALF = THRESHOLDS.tells / 2
UNSURE = SURE_SHARE * THRESHOLDS.tells - 0.01
BETWEEN = "21 days (from 2026-03-12 to 2026-04-02)."


@pytest.mark.parametrize(
    ("query", "said", "line"),
    [
        ("How many days ago did I run the marathon?", MARATHON, "69 days (from 2026-03-12 to 2026-05-20)."),
        ("How many weeks ago was it?", MARATHON, "9 weeks and 6 days (from 2026-03-12 to 2026-05-20)."),
        ("How long ago was it?", MARATHON, "69 days, that is 2 months and 8 days (from 2026-03-12 to 2026-05-20)."),
        ("How long has it been since the surgery?", SURGERY, "9 days (from 2026-05-11 to 2026-05-20)."),
        ("How many months since we signed the lease?", LEASE, "3 months (from 2026-02-20 to 2026-05-20)."),
        ("How many years since we signed the lease?", LEASE, "3 months (from 2026-02-20 to 2026-05-20)."),
        ("How many days until my driving test?", TEST, "14 days (from 2026-05-20 to 2026-06-03)."),
        ("Hur många dagar har gått sedan operationen?", SURGERY, "9 days (from 2026-05-11 to 2026-05-20)."),
        ("Wie viele Tage sind seit der Operation vergangen?", SURGERY, "9 days (from 2026-05-11 to 2026-05-20)."),
        ("Vor wie vielen Wochen war die Operation?", SURGERY, "1 week and 2 days (from 2026-05-11 to 2026-05-20)."),
        ("Wie lange ist die Operation her?", SURGERY, "9 days (from 2026-05-11 to 2026-05-20)."),
        ("How many days between 1 March 2026 and the surgery?", SURGERY, "71 days (from 2026-03-01 to 2026-05-11)."),
    ],
)
def test_a_length_is_computed_of_the_day_that_the_sentence_which_answers_tells(
    query: str, said: Entry, line: str
) -> None:
    found = answer(query, said, relevance={said.id: 0.9})
    assert found.text.splitlines()[0] == line
    assert found.text.splitlines()[1].endswith(said.content)
    assert list(found.cited) == [said.id]


@pytest.mark.parametrize(
    "query",
    [
        "How many days after the marathon did I adopt the cat?",
        "How many days before we adopted the cat did I run the marathon?",
        "How long passed between the marathon and the day we adopted the cat?",
        "Hur många dagar efter loppet kom katten?",
        "Wie viele Tage lagen zwischen dem Marathon und der Katze?",
    ],
)
@pytest.mark.parametrize("entries", [(MARATHON, CAT), (CAT, MARATHON)])
def test_between_two_days_two_sentences_are_told_that_answer_half(query: str, entries: tuple[Entry, Entry]) -> None:
    relevance = dict.fromkeys(("marathon", "cat"), HALF)
    told = [f"2026-03-12: {MARATHON.content}", f"2026-04-02: {CAT.content}"]
    found = answer(query, *entries, relevance=relevance)
    assert found.text.splitlines() == [BETWEEN, *(told if entries[0] is MARATHON else told[::-1])]
    assert list(found.cited) == [one.id for one in entries]


def test_between_two_days_a_third_that_answers_as_well_leaves_it_unsaid_where_words_do_not_tell_the_events() -> None:
    relevance = dict.fromkeys(("marathon", "cat", "kayak"), HALF)
    options = {"relevance": relevance, "events": [KAYAK.content]}
    assert lines("Hur många dagar efter loppet kom katten?", MARATHON, CAT, KAYAK, **options) == []
    found = lines("How many days after the marathon did I adopt the cat?", MARATHON, CAT, KAYAK, **options)
    assert found[0] == BETWEEN


UNCLEAR = {
    "a week that is not over": ("How long ago did I move?", "I moved to Oslo next week."),
    "about a day": ("How long ago did I move?", "I moved to Oslo around 3 May 2026."),
    "between a month and a day": ("How long between April 2026 and the race?", "The race was yesterday."),
    "two days in one sentence": ("How long until the race?", "The race moved from 3 June 2026 to 10 June 2026."),
    "a guess": ("How long until the race?", "The race is around 3 June 2026."),
    "an open period": ("How long until the race?", "I train until 3 June 2026 for the race."),
    "month or day first": ("How long until the race?", "The race is on 6/7/2026."),
    "a date of no year that is far away": ("How long until the race?", "The race is on 3 November."),
    "it has passed": ("How long until the race?", "The race was yesterday."),
    "it is to come": ("How long ago was the race?", "The race is on 3 June 2026."),
    "another day is asked for": ("How long is it since 3 March?", "I ran the race yesterday."),
    "one day": ("How long between the race and the party?", "The race was yesterday."),
    "no ends": ("How long?", "I ran the race today."),
    "a duration": ("How long does the race take?", "I ran the race today."),
    "no length": ("How many people ran since yesterday?", "I ran the race today."),
}


@pytest.mark.parametrize("why", UNCLEAR)
def test_nothing_is_claimed_where_a_day_is_not_clear(why: str) -> None:
    query, content = UNCLEAR[why]
    (line,) = lines(query, entry(content, "2026-05-13", id_="1"), relevance={"1": 0.9}, events=[content])
    assert line.startswith("2026-05-13: "), why


def test_the_day_of_a_memory_counts_where_the_store_named_it_and_it_speaks_of_an_event() -> None:
    query = "How many days ago did I buy the kayak?"
    computed, told = "10 days (from 2026-05-10 to 2026-05-20).", f"2026-05-10: {KAYAK.content}"
    assert lines(query, KAYAK, relevance={"kayak": 0.9}, events=[KAYAK.content]) == [computed, told]
    assert lines(query, KAYAK, relevance={"kayak": 0.9}) == [told]
    stored = Entry(
        id="kayak", content=KAYAK.content, metadata={}, score=0.9, created_at=noon("2026-05-10")
    )  # when it was stored says nothing of it
    assert lines(query, stored, relevance={"kayak": 0.9}, events=[KAYAK.content]) == [told]
    turn = entry(KAYAK.content, "2026-05-10", id_="kayak", session="chat")  # it was said on that day
    assert lines(query, turn, relevance={"kayak": 0.9}, events=[KAYAK.content]) == [told]
    years = entry("I have had a kayak for 4 years.", "2026-05-10", id_="kayak")
    assert len(lines(query, years, relevance={"kayak": 0.9}, events=[years.content])) == 1
    beside = entry("I bought a kayak. It came last week.", "2026-05-10", id_="kayak")
    ratings = {KAYAK.content: 0.9}
    assert lines(query, beside, relevance={"kayak": 0.9}, ratings=ratings, events=[KAYAK.content]) == [told]


def test_it_is_counted_from_the_memory_that_is_told_first() -> None:
    moved = entry("The deadline is now 9 June 2026.", "2026-05-01", id_="new")
    old = entry("The deadline is 3 June 2026.", "2026-04-01", id_="old")
    found = lines("How many days until the deadline?", moved, old, relevance={"new": 0.8, "old": 0.9})
    assert found[:2] == ["20 days (from 2026-05-20 to 2026-06-09).", "2026-05-01: The deadline is now 9 June 2026."]


@pytest.mark.parametrize("relevance", [None, {"marathon": UNSURE}], ids=["no reader", "no answer"])
def test_without_a_reader_that_finds_an_answer_nothing_is_computed(relevance: dict[str, float] | None) -> None:
    found = lines("How long ago did I run the marathon?", MARATHON, relevance=relevance)
    assert found == ([f"2026-03-12: {MARATHON.content}"] if relevance is None else [])


def test_where_the_reader_cannot_say_what_happened_nothing_is_computed() -> None:
    reader = ScriptedReader(error=ReaderUnavailable("It is closed."))
    found = lines("How long ago did I buy the kayak?", KAYAK, relevance={"kayak": 0.9}, reader=reader)
    assert found == [f"2026-05-10: {KAYAK.content}"]


def test_a_computed_answer_has_other_sentences_that_answer_and_tells_nothing_of_before() -> None:
    relevance = {"marathon": 0.9, "other": 0.8}
    other = entry("The marathon took four hours.", "2026-03-13", id_="other")
    found = lines("How long ago was the marathon?", MARATHON, other, relevance=relevance, length="long")
    assert [line[:10] for line in found] == ["69 days, t", "2026-03-12", "2026-03-13"]
