"""Expressions of time and the days that they mean, in English, Swedish and German."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.language.dates.days import MAX_TEXT, MentionedDays, mentioned_days, resolved

CASES = [json.loads(line) for line in Path("tests/data/dates/expressions.jsonl").read_text("utf-8").splitlines()]
TUESDAY = datetime(2026, 3, 10, 15, tzinfo=UTC)


def read(case: dict[str, Any]) -> list[tuple[str, list[str]]]:
    found = resolved(case["text"], datetime.fromisoformat(case["reference"]))
    return [(each.expression, [each.start.isoformat(), each.end.isoformat()]) for each in found]


def wanted(case: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(case["expression"], case["days"])] if case["days"] else []


def test_no_expression_of_200_means_another_day_than_it_should() -> None:
    assert len(CASES) >= 200
    assert [case for case in CASES if read(case) not in ([], wanted(case))] == []


@pytest.mark.parametrize("language", ["en", "sv", "de"])
def test_few_expressions_that_mean_a_day_are_left_alone(language: str) -> None:
    told = [case for case in CASES if case["language"] == language and case["days"]]
    assert len(told) >= 40
    assert sum(read(case) == wanted(case) for case in told) >= 0.97 * len(told)


@pytest.mark.parametrize(
    "text",
    [
        "The backup runs on the last Friday of the month",
        "the last Friday of every quarter",
        "the last Friday in May",
        "am letzten Freitag des Monats",
        "am letzten Freitag jedes Monats",
        "the last week of the year",
    ],
)
def test_a_day_of_each_month_is_no_date(text: str) -> None:
    assert resolved(text, TUESDAY) == []


@pytest.mark.parametrize("text", ["last Friday in the morning", "letzten Freitag im Büro", "last Friday in Maywood"])
def test_a_day_in_a_place_or_a_part_of_it_is_a_date(text: str) -> None:
    (found,) = resolved(text, TUESDAY)
    assert (found.start, found.end) == (date(2026, 3, 6), date(2026, 3, 6))


@pytest.mark.parametrize(
    "text",
    [
        "I moved half a year ago",
        "I moved half a decade ago",
        "It rained twenty two days ago",
        "a hundred and two days ago",
        "one or two weeks ago",
        "between one and two weeks ago",
        "1 or 2 weeks ago",
        "twenty two days from today",
        "We fly in a week or two",
        "I return in a year and a half",
        "Das war vor einer Woche und zwei Tagen",
        "om en vecka eller två",
        "twenty two days before yesterday",
    ],
)
def test_a_part_of_a_number_is_not_the_number(text: str) -> None:
    assert resolved(text, TUESDAY) == []
    assert mentioned_days(text, TUESDAY.toordinal()) == MentionedDays(is_sure=False)


@pytest.mark.parametrize(
    "text",
    [
        "I bought one two weeks ago",
        "in May and two weeks ago",
        "Half of us left two weeks ago",
        "Das war vor zwei Wochen und schön",
    ],
)
def test_a_number_behind_another_word_is_read(text: str) -> None:
    assert [each.start for each in resolved(text, TUESDAY)] == [date(2026, 2, 23)]


@pytest.mark.parametrize(
    "text", ["The fair was from 5 March to 8 March 2025", "On 5 March, 8 March 2025", "on 5 March or on 8 March 2025"]
)
def test_a_date_without_a_year_is_not_sure_where_the_one_behind_it_names_one(text: str) -> None:
    assert [each.expression for each in resolved(text, TUESDAY)] == ["8 March 2025"]
    assert not mentioned_days(text, TUESDAY.toordinal()).is_sure
    assert len(resolved("from 5 March to 8 March", TUESDAY)) == len(resolved("on 5 March last week", TUESDAY)) == 2


def test_several_expressions_come_in_their_order_each_with_its_place() -> None:
    text = "Yesterday I called, in three days I fly, and on 14 March 2026 we marry."
    found = resolved(text, TUESDAY)
    assert [each.expression for each in found] == ["Yesterday", "in three days", "14 March 2026"]
    assert [text[each.place :].startswith(each.expression) for each in found] == [True] * 3


@pytest.mark.parametrize("reference", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_ends_of_the_calendar_are_no_error(reference: datetime) -> None:
    for text in (
        "in 999 years",
        "999 years ago",
        "om 999 år",
        "vor 999 Jahren",
        "i övermorgon",
        "heute in 999 Jahren",
        "this week",
        "this weekend",
    ):
        assert all(each.start <= each.end for each in resolved(text, reference))


@given(st.text(alphabet="inomvörsedan 0123456789wektagjh.\u0130\n", max_size=200))
def test_whatever_is_found_stands_in_the_text_at_its_place(text: str) -> None:
    for each in resolved(text, TUESDAY):
        assert text[each.place :].startswith(each.expression)
        assert date.min <= each.start <= each.end


def test_no_more_than_a_bounded_text_is_read() -> None:
    assert resolved("x" * MAX_TEXT + " yesterday", TUESDAY) == []
