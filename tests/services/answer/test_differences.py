"""Lengths of time: computed where both ends are clear, and not claimed where they are not."""

import pytest

from tests.services.answer.made import answer, entry, lines, noon

MARATHON = entry("I ran the marathon today, four hours flat!", "2026-03-12")
CAT = entry("We adopted a cat today. Her name is Miso.", "2026-04-02")
SURGERY = entry("The surgery was on 11 May 2026.", "2026-05-12")
LEASE = entry("We signed the lease on Elm Street on 20 February 2026.", "2026-03-02")
TEST = entry("My driving test is on 3 June 2026.", "2026-05-04")
ENTRIES = (MARATHON, CAT, SURGERY, LEASE, TEST)
BETWEEN = "21 days (from 2026-03-12 to 2026-04-02)."


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("How many days after the marathon did I adopt the cat?", BETWEEN),
        ("How many days before we adopted the cat did I run the marathon?", BETWEEN),
        ("How long after the marathon did we adopt the cat?", BETWEEN),
        ("How many days passed between the marathon and the day we adopted the cat?", BETWEEN),
        ("How many days between adopting the cat and the marathon?", BETWEEN),
        ("How many weeks between the marathon and adopting the cat?", "3 weeks (from 2026-03-12 to 2026-04-02)."),
        ("How many days ago did I run the marathon?", "69 days (from 2026-03-12 to 2026-05-20)."),
        ("How many weeks ago did I run the marathon?", "9 weeks and 6 days (from 2026-03-12 to 2026-05-20)."),
        (
            "How long ago did I run the marathon?",
            "69 days, that is 2 months and 8 days (from 2026-03-12 to 2026-05-20).",
        ),
        ("How long has it been since the surgery?", "9 days (from 2026-05-11 to 2026-05-20)."),
        ("How many months since we signed the lease?", "3 months (from 2026-02-20 to 2026-05-20)."),
        ("How many years since we signed the lease?", "3 months (from 2026-02-20 to 2026-05-20)."),
        ("How many days until my driving test?", "14 days (from 2026-05-20 to 2026-06-03)."),
        ("How many days from the surgery to the driving test?", "23 days (from 2026-05-11 to 2026-06-03)."),
        ("How many days between 1 March 2026 and the surgery?", "71 days (from 2026-03-01 to 2026-05-11)."),
        ("What date is three weeks after the surgery?", "2026-06-01 (3 weeks after 2026-05-11)."),
        ("Which day was 10 days before the surgery?", "2026-05-01 (10 days before 2026-05-11)."),
    ],
)
def test_a_length_of_time_is_computed_and_comes_first(query: str, line: str) -> None:
    assert lines(query, *ENTRIES)[0] == line


def test_the_sentences_that_tell_the_days_follow() -> None:
    assert lines("How many days after the marathon did I adopt the cat?", *ENTRIES) == [
        BETWEEN,
        "2026-03-12: I ran the marathon today, four hours flat!",
        "2026-04-02: We adopted a cat today.",
    ]


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("Hur många dagar har gått sedan vi köpte hunden?", "18 dagar (från 2026-05-02 till 2026-05-20)."),
        ("Wie viele Tage sind seit dem Umzug vergangen?", "8 Tage (von 2026-05-12 bis 2026-05-20)."),
    ],
)
def test_swedish_and_german_questions_are_computed(query: str, line: str) -> None:
    entries = entry("Vi köpte hunden i dag.", "2026-05-02"), entry("Der Umzug war gestern.", "2026-05-13")
    assert lines(query, *entries)[0] == line


UNCLEAR = {
    "a week is no day": ("How long ago did I move?", "I moved to Oslo last week."),
    "a plan has not happened": ("How long ago did I run the marathon?", "I want to run the marathon."),
    "a negation": ("How long ago did I run the marathon?", "I never ran the marathon today."),
    "a question": ("How long ago was the marathon?", "Was the marathon yesterday?"),
    "a condition": ("How long until the marathon?", "If it is dry the marathon is on 3 June 2026."),
    "two days in one sentence": (
        "How long until the marathon?",
        "The marathon moved from 3 June 2026 to 10 June 2026.",
    ),
    "a guess": ("How long until the marathon?", "The marathon is around 3 June 2026."),
    "an open period": ("How long until the marathon?", "I train until 3 June 2026 for the marathon."),
    "month or day first": ("How long until the marathon?", "The marathon is on 6/7/2026."),
    "a date of no year that is far away": ("How long until the marathon?", "The marathon is on 3 November."),
    "nothing happened": ("How long ago was the marathon?", "Marathon shoes are expensive."),
    "it has passed": ("How long until the marathon?", "The marathon was yesterday."),
    "something after it": ("How long ago was the marathon?", "We cleaned up after the marathon today."),
    "something for it": ("How long ago was the marathon?", "I bought shoes for the marathon today."),
    "another thing of its name": ("How long ago was the marathon?", "My marathon photos came today."),
    "two days of the calendar and no memory": ("How many days until 3 June 2026?", "I ran the marathon today."),
    "no such thing": ("How long ago did I sell the boat?", "I ran the marathon today."),
    "no ends": ("How long?", "I ran the marathon today."),
    "too long ago to be a date": ("What date is 9999 years after the marathon?", "I ran the marathon today."),
    "a duration, not a date": ("How long does the marathon take?", "I ran the marathon today."),
}


@pytest.mark.parametrize("why", UNCLEAR)
def test_nothing_is_claimed_where_an_end_is_not_clear(why: str) -> None:
    query, content = UNCLEAR[why]
    found = lines(query, entry(content, "2026-05-13"))
    assert not found or found[0].startswith("2026-05-13: "), why


def test_two_days_of_one_thing_make_no_end() -> None:
    again = entry("I ran the marathon yesterday.", "2026-04-20")
    assert lines("How long ago did I run the marathon?", MARATHON, again)[0][:12] in {"2026-03-12: ", "2026-04-20: "}


def test_a_contrary_order_is_not_claimed() -> None:
    assert lines("How many days after adopting the cat did I run the marathon?", MARATHON, CAT)[0][:2] == "20"


def test_an_event_without_a_day_needs_a_memory_that_has_one() -> None:
    bought = entry("I bought a kayak.", "2026-05-10")
    assert lines("How many days ago did I buy the kayak?", bought)[0] == "10 days (from 2026-05-10 to 2026-05-20)."
    stored = type(bought)("1", bought.content, {}, 0.9, noon("2026-05-10"))  # when it was stored says nothing of it
    found = answer("How many days ago did I buy the kayak?", stored)
    assert found.text == "2026-05-10: I bought a kayak."


def test_a_date_without_its_year_is_that_of_the_nearest_year() -> None:
    said = entry("The regatta is on 5 June.", "2026-05-10")
    assert lines("How many days until the regatta?", said)[0] == "16 days (from 2026-05-20 to 2026-06-05)."


@pytest.mark.parametrize(
    "other",
    [
        "The Marlow brochure deadline has been moved to 9 June 2026.",
        "We moved the Marlow brochure deadline to next month.",
        "The Marlow brochure deadline has been moved to Friday.",
    ],
)
def test_where_another_memory_tells_another_day_none_is_claimed(other: str) -> None:
    old = entry("The Marlow brochure deadline is 3 June 2026.", "2026-04-01")
    found = lines("How many days until the Marlow brochure deadline?", old, entry(other, "2026-05-01"))
    assert "days (from" not in found[0]


def test_a_computed_answer_tells_nothing_of_before() -> None:
    found = lines("How many days before we adopted the cat did I run the marathon?", *ENTRIES, length="long")
    assert found[0] == BETWEEN
    assert not any(line.startswith("Before") for line in found)
