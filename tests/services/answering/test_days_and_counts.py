"""Days and counts are told of when something happened, not of when it was said, and not where that is not clear."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.moments import milliseconds, parse_moment
from app.domain.query import Entry
from tests.services.answering.made import answer, entry, lines, noon

LAST, TIMES = "When did I last run?", "How often did I run?"


def runs(*told: tuple[str, str]) -> list[Entry]:
    return [entry(content, day, id_=str(number)) for number, (day, content) in enumerate(told)]


def first(query: str, *entries: Entry, at: str = "2026-05-20", length: str = "long") -> str:
    """Return the first line of an answer to which all entries belong, the best first."""
    found = lines(query, *entries, at=at, length=length, relevance={each.id: 0.9 for each in entries})
    return found[0]


@pytest.mark.parametrize(
    ("query", "said", "line"),
    [
        ("When did I move?", "I moved to Oslo yesterday.", "On 2026-05-04."),
        ("When did I move?", "I moved to Oslo last week.", "Between 2026-04-27 and 2026-05-03."),
        ("When did I move?", "I moved to Oslo last month.", "In 2026-04."),
        ("When did I move?", "I moved to Oslo in 1969.", "In 1969."),
        ("When is the race?", "The race is on 3 June 2026.", "On 2026-06-03."),
        ("Since when do I work at Acme?", "I have worked at Acme since March 2021.", "In 2021-03."),
        ("Seit wann arbeite ich bei Acme?", "Ich arbeite seit dem 3. Mai 2021 bei Acme.", "On 2021-05-03."),
        ("När flyttade jag?", "Jag flyttade för två dagar sedan.", "On 2026-05-03."),
    ],
)
def test_a_day_is_that_of_the_event_however_late_it_was_told(query: str, said: str, line: str) -> None:
    found = answer(query, entry(said, "2026-05-05", id_="1"), relevance={"1": 0.9})
    assert found.text.splitlines()[0] == line
    assert found.text.splitlines()[1].startswith("2026-05-05: ")
    assert list(found.cited) == ["1"]


@pytest.mark.parametrize(
    ("query", "said", "line"),
    [
        ("How long have I worked at Acme?", "I started at Acme on 3 May 2021.", "5 years and 17 days (from 2021-05-03"),
        (
            "How long have I worked at Acme?",
            "I am at Acme since March 2021.",
            "At least 5 years, 1 month and 20 days, at",
        ),
        (
            "How many days ago did I move?",
            "I moved last week.",
            "At least 17 days, at most 23 days (from 2026-04-27 to ",
        ),
        ("Wie lange wohne ich schon hier?", "Ich wohne hier seit gestern.", "16 days (from 2026-05-04 to 2026-05-20)."),
    ],
)
def test_what_began_in_a_stretch_of_days_has_lasted_between_two_bounds(query: str, said: str, line: str) -> None:
    found = first(query, entry(said, "2026-05-05"))
    assert line in found.replace("1843 days, that is ", "")


def test_days_are_days_in_utc_whatever_the_zone_of_a_moment() -> None:
    told = milliseconds(parse_moment("2026-05-05T01:30:00+02:00"))
    late = replace(entry("I moved to Oslo yesterday.", id_="1"), occurred_at=told)
    assert first("When did I move?", late) == "On 2026-05-03."
    asked = milliseconds(datetime(2026, 5, 5, 23, 59, 59, tzinfo=UTC))
    found = lines("How many days ago did I move?", late, at=asked, relevance={"1": 0.9})
    assert found[0] == "2 days (from 2026-05-03 to 2026-05-05)."


def test_it_is_counted_until_the_moment_of_the_question() -> None:
    moved = entry("I moved to Oslo on 3 May 2026.", "2026-05-05")
    assert first("How many days ago did I move?", moved, at="2026-05-13").startswith("10 days")
    assert first("How many days ago did I move?", moved, at="2026-05-02").startswith("2026-05-05: I moved")


def test_the_last_time_is_the_latest_day_of_all_that_answer() -> None:
    told = runs(("2026-04-02", "I ran today."), ("2026-05-05", "I ran yesterday."), ("2026-05-12", "I ran on 1 May."))
    assert first(LAST, *told) == "Last on 2026-05-04."
    assert first("How many days is it since I last ran?", *told) == "16 days (from 2026-05-04 to 2026-05-20)."
    assert first("When did I last run in April 2026?", *told) == "Last on 2026-04-02."


@pytest.mark.parametrize(
    ("day", "said"),
    [
        ("2026-05-12", "I ran again."),
        ("2026-05-12", "I ran around 9 May 2026."),
        ("2026-05-12", "I will run tomorrow."),
        ("2026-05-19", "I ran this week."),
        ("2026-06-02", "I ran last month."),
    ],
)
def test_no_last_time_is_told_where_another_may_be_later(day: str, said: str) -> None:
    sure, other = runs(("2026-05-05", "I ran yesterday."), (day, said))
    assert first(LAST, sure, other, at=max(day, "2026-05-20")) == "2026-05-05: I ran yesterday [2026-05-04]."


def test_what_is_planned_for_a_later_day_and_what_was_before_leaves_the_last_time_as_it_is() -> None:
    told = runs(
        ("2026-05-05", "I ran yesterday."), ("2026-05-19", "I run on 3 June 2026."), ("2026-04-05", "I ran again.")
    )
    assert first(LAST, *told) == "Last on 2026-05-04."


def test_how_often_counts_days_that_are_told_and_not_sentences() -> None:
    told = runs(
        ("2026-05-05", "I ran yesterday."),
        ("2026-05-06", "I ran yesterday."),
        ("2026-05-07", "I ran on 4 May."),
        ("2026-02-09", "I ran last month."),
    )
    found = answer(TIMES, *told, length="long", relevance={each.id: 0.9 for each in told})
    assert found.text.splitlines()[0] == "At least 2 times (on 2026-05-04, 2026-05-05)."  # a month is no day
    assert list(found.cited)[:2] == ["0", "1"]


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("How often did I run this year?", "At least 2 times (on 2026-01-01, 2026-05-04)."),
        ("How often did I run?", "At least 3 times (on 2025-12-31, 2026-01-01, 2026-05-04)."),
        ("How often did I run in 2025?", "2026-05-05: I ran yesterday [2026-05-04]."),
        ("Hur ofta sprang jag i år?", "At least 2 times (on 2026-01-01, 2026-05-04)."),
        ("How many times did I run in 2024?", "2026-05-05: I ran yesterday [2026-05-04]."),
        ("How often did I run since January?", "2026-05-05: I ran yesterday [2026-05-04]."),
        ("How often did I run in May?", "2026-05-05: I ran yesterday [2026-05-04]."),
    ],
)
def test_how_often_counts_within_the_period_that_is_named_where_that_is_sure(query: str, line: str) -> None:
    told = runs(("2026-05-05", "I ran yesterday."), ("2025-12-31", "I ran today."), ("2026-01-01", "I ran today."))
    assert first(query, *told) == line


@pytest.mark.parametrize(
    "said",
    [
        "I run every week, as on 1 May 2026.",
        "I will run on 9 May 2026.",
        "I ran a lot.",
        "I run from 3 May to 9 May 2026.",
    ],
)
def test_what_comes_again_is_planned_or_has_no_clear_day_is_not_counted(said: str) -> None:
    told = [entry(said, "2026-05-05"), entry("I ran yesterday.", "2026-05-05")]
    assert first(TIMES, *told).startswith("2026-05-05: I ")


@pytest.mark.parametrize("only", [0, 1])
def test_between_two_events_one_of_which_is_not_known_nothing_is_computed(only: int) -> None:
    known = runs(("2026-05-05", "I ran the race yesterday."), ("2026-05-12", "The party was yesterday."))[only]
    found = first("How many days between the race and the party?", known)
    assert found.startswith(f"2026-05-{(5, 12)[only]:02}: ")


def test_a_far_past_and_a_moment_outside_the_calendar_do_no_harm() -> None:
    old = entry("The castle was built on 3 May 1066.", "2026-05-05")
    assert (
        first("How many years ago was the castle built?", old)
        == "960 years and 17 days (from 1066-05-03 to 2026-05-20)."
    )
    for moment in (-(10**17), 10**17):
        beyond = replace(entry("I moved yesterday.", id_="1"), occurred_at=moment)
        for query in ("How long ago did I move?", "When did I move?", TIMES, LAST):
            for at in (-(10**17), 10**17, noon("2026-05-20")):
                assert lines(query, beyond, at=at, relevance={"1": 0.9})


def test_a_huge_number_of_days_is_no_day() -> None:
    for number in ("999999999999", "9" * 400):
        said = entry(f"I moved {number} days ago.", "2026-05-05")
        assert first("How long ago did I move?", said).startswith("2026-05-05: I moved")


DAYS = st.dates(date(1900, 1, 1), date(2100, 1, 1))


@given(DAYS, DAYS, st.sampled_from((1, -1)))
def test_between_two_days_it_is_as_long_in_either_order(one: date, two: date, order: int) -> None:
    both = [
        entry("The race was today.", one.isoformat(), id_="race"),
        entry("The party was today.", two.isoformat(), id_="party"),
    ]
    found = first("How many days between the race and the party?", *both[::order])
    days, ends = abs((two - one).days), sorted((one.isoformat(), two.isoformat()))
    told = f"{days} day{'s' * (days != 1)} (from {ends[0]} to {ends[1]})."
    assert found == told if days else not found.startswith("0")


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_as_many_times_are_counted_as_there_are_days(offsets: list[int]) -> None:
    days = [(date(2026, 2, 1) + timedelta(days=each)).isoformat() for each in offsets]
    found = first(TIMES, *runs(*((day, f"I ran today, run {number}.") for number, day in enumerate(days))))
    counted = f"At least {len(set(days))} times (on {', '.join(sorted(set(days)))})."
    assert found == counted if len(set(days)) > 1 else "At least" not in found
    assert first(LAST, *runs(*((day, "I ran today.") for day in days))) == f"Last on {max(days)}."


@pytest.mark.parametrize(
    ("query", "told", "line"),
    [
        (
            "How often did the backup fail?",
            [
                ("2026-05-03", "The backup failed on 3 May 2026."),
                ("2026-05-09", "The backup failed again on 9 May 2026."),
                ("2026-05-12", "Backup failed on 12 May 2026, disk full."),
            ],
            "At least 3 times (on 2026-05-03, 2026-05-09, 2026-05-12).",
        ),
        (
            "How many times did I visit the dentist?",
            [("2026-02-11", "I was at the dentist yesterday."), ("2026-04-04", "Dentist visit on 4 April 2026.")],
            "At least 2 times (on 2026-02-10, 2026-04-04).",
        ),
    ],
)
def test_plain_notes_are_counted_by_the_days_of_their_events(
    query: str, told: list[tuple[str, str]], line: str
) -> None:
    assert first(query, *runs(*told)) == line
