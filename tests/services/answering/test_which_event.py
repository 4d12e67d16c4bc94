"""A day, a length or a last time is told of the event that was asked, and of no other one that a reader finds near."""

import pytest

from app.domain.query import Entry
from tests.services.answering.made import entry, lines

BOUGHT = entry("I bought the bike on 2026-03-12.", "2026-05-01", id_="bought")
SOLD = entry("I sold the bike on 2026-04-02.", "2026-05-01", id_="sold")
BETWEEN = "21 days (from 2026-03-12 to 2026-04-02)."


def first(query: str, *entries: Entry) -> str:
    """Return the first line, where a reader finds that all entries answer, the first one best."""
    return lines(query, *entries, relevance={each.id: 0.9 for each in entries}, length="long")[0]


@pytest.mark.parametrize("entries", [(SOLD, BOUGHT), (BOUGHT, SOLD)])
def test_of_two_statements_the_one_with_the_questions_deed_and_thing_tells_the_day(entries: tuple[Entry, ...]) -> None:
    assert first("How many days is it since I bought the bike?", *entries).startswith("69 days (from 2026-03-12")
    assert first("When did I sell the bike?", *entries) == "On 2026-04-02."


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("When did I buy the bike?", "I sold the bike on 2026-04-02."),  # another deed
        ("When did I buy the car?", "I bought the bike on 2026-04-02."),  # another thing
        ("When did I buy the car?", "My sister Anna bought a car on 2026-04-02."),  # somebody else
        ("When did Anna buy the car?", "I bought a car on 2026-04-02."),
        ("When did Grandpa visit us?", "Grandma visited us on 2026-04-02."),
        ("When did Grandma visit us?", "We visited Grandma on 2026-04-02."),
        ("When was version 2.1 released?", "Version 2.0 was released on 2026-04-02."),
        ("When did I sell the bike?", "I sold the bike, and bought a tent on 2026-04-02."),  # the other deed's day
        ("How long have I had the car?", "I sold my car on 2026-04-02."),  # its end
        ("Wann habe ich das Auto gekauft?", "Ich habe das Auto am 2. April 2026 verkauft."),
        ("När köpte jag båten?", "Jag sålde båten den 2 april 2026."),
        ("Wann bin ich gelaufen?", "Ich habe am 2. April 2026 geliefert."),
    ],
)
def test_of_another_deed_thing_or_person_nothing_is_computed(query: str, said: str) -> None:
    assert first(query, entry(said, "2026-05-01")).startswith("2026-05-01: ")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("When was the invoice paid?", "The invoice was due on 3 April 2026."),
        ("When was version 2.1 released?", "The release of version 2.1 was planned for 3 April 2026."),
        ("When did I visit Lisbon?", "I hoped to visit Lisbon on 3 April 2026."),
        ("How long ago was the race?", "The race was scheduled for 3 April 2026."),
        ("When was the race?", "The race is on 3 May 2026."),  # told before its day
        ("Wann wurde die Rechnung bezahlt?", "Die Rechnung war am 3. April 2026 fällig."),
    ],
)
def test_a_day_for_which_something_was_planned_is_not_the_day_it_happened(query: str, said: str) -> None:
    assert first(query, entry(said, "2026-05-01")).startswith("2026-05-01: ")


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("When was the invoice due?", "On 2026-06-03."),
        ("When is the invoice due?", "On 2026-06-03."),
        ("How many days until the invoice is due?", "14 days (from 2026-05-20 to 2026-06-03)."),
    ],
)
def test_who_asks_for_what_is_due_or_planned_is_told_its_day(query: str, line: str) -> None:
    assert first(query, entry("The invoice is due on 3 June 2026.", "2026-05-01")) == line


@pytest.mark.parametrize(
    "query",
    [
        "How many days between I bought the bike and sold it?",
        "How long after I bought the bike did I sell it?",
        "How many days did I sell the bike after I bought it?",
        "How many days passed between buying the bike and selling the bike?",
    ],
)
def test_a_length_between_two_events_has_each_of_its_own_statement_however_little_a_reader_finds(query: str) -> None:
    tent = entry("I bought a tent on 2026-03-20.", "2026-05-01", id_="tent")
    for told in ((SOLD, BOUGHT, tent), (tent, BOUGHT, SOLD)):
        found = lines(query, *told, relevance={each.id: 0.1 for each in told}, length="long")
        assert found[0].removeprefix("3 weeks ") in (BETWEEN, BETWEEN.replace("21 days", "3 weeks"))
    assert not lines(query, SOLD, tent, relevance={"sold": 0.1, "tent": 0.1})


def test_statements_of_one_event_that_tell_two_days_leave_it_unsaid() -> None:
    other = entry("I bought the bike on 2026-03-14.", "2026-05-01", id_="other")
    assert first("When did I buy the bike?", BOUGHT, other).startswith("2026-05-01: ")


def test_no_last_time_is_told_where_what_a_reader_finds_in_other_words_may_be_later() -> None:
    ran = entry("I ran on 2026-04-02.", "2026-05-01", id_="ran")
    jogged = entry("I went jogging on 2026-04-20.", "2026-05-01", id_="jogged")
    assert first("When did I last run?", ran) == "Last on 2026-04-02."
    assert first("When did I last run?", ran, jogged).startswith("2026-05-01: ")
