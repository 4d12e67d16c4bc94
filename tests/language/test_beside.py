"""Days that are written beside "last week", counted from the moment of which a memory speaks."""

import pytest

from app.language.dates.days import ordinal, shown, with_days
from tests.services.answering.made import noon

SURE = {
    "I moved to Oslo last week.": "I moved to Oslo last week [2026-03-23 to 2026-03-29].",
    "Yesterday we met.": "Yesterday [2026-04-01] we met.",
    "It was yesterday's team.": "It was yesterday's [2026-04-01] team.",
    "Two days ago it rained.": "Two days ago [2026-03-31] it rained.",
    "We came three weeks ago": "We came three weeks ago [2026-03-09 to 2026-03-15]",
    "A month ago I quit.": "A month ago [2026-03] I quit.",
    "I quit two weeks ago yesterday.": "I quit two weeks ago yesterday [2026-03-18].",
    "The week before last I quit.": "The week before last [2026-03-16 to 2026-03-22] I quit.",
    "We go next month.": "We go next month [2026-05].",
    "I quit two years ago.": "I quit two years ago [2024].",
    "Last Friday I slept.": "Last Friday [2026-03-27] I slept.",
    "Last night we slept.": "Last night [2026-04-01] we slept.",
    "We meet this weekend.": "We meet this weekend [2026-04-04 to 2026-04-05].",
    "I slept two weeks of last year": "I slept two weeks of last year [2025]",
    "since last year": "since last year [2025]",
    "Jag flyttade förra månaden.": "Jag flyttade förra månaden [2026-03].",
    "i förrgår": "i förrgår [2026-03-31]",
    "Letzte Woche war ich in Rom.": "Letzte Woche [2026-03-23 to 2026-03-29] war ich in Rom.",
    "Yesterday and two days ago": "Yesterday [2026-04-01] and two days ago [2026-03-31]",
}
UNSURE = (
    "A few weeks ago we came.",
    "Next Friday I start.",
    "On Friday I start.",
    "We left in May. The next week we came back.",
    "We arrived late, and next morning we left.",
    "I quit the Monday before last.",
    "I quit the week before last Easter.",
    "Next evening it rained.",
    'She said "I come next week".',
    "Last summer was hot.",
    "Last March was cold.",
    "At the end of last month it rained.",
    "We met in the last days of last year.",
    "We met on the first Friday of last month.",
    "The concert is on 12 March.",
    "I saw it today.",
    "",
    "The last straw.",
)


@pytest.mark.parametrize("text", SURE)
def test_a_relative_date_is_written_out_where_it_is_sure(text: str) -> None:
    assert with_days(text, noon("2026-04-02")) == SURE[text]


@pytest.mark.parametrize("text", UNSURE)
def test_nothing_is_written_where_it_is_not_sure(text: str) -> None:
    assert with_days(text, noon("2026-04-02")) == text


def test_no_more_than_three_are_written_in_a_sentence() -> None:
    assert with_days("yesterday " * 20, noon("2026-04-02")).count("[") == 3


@pytest.mark.parametrize("moment", [-(10**18), 10**18, 0, -62135596800000, 253402300799999])
def test_the_ends_of_the_calendar_are_no_error(moment: int) -> None:
    assert with_days("last week and yesterday", moment).startswith("last week")


def test_a_quarter_of_the_calendars_last_year_is_shown_with_its_ends() -> None:
    assert with_days("this quarter", noon("9999-03-10")) == "this quarter [9999-01-01 to 9999-03-31]"


def test_whole_months_and_years_are_shown_as_such() -> None:
    day = {text: ordinal(noon(text)) for text in ("2024-02-01", "2024-03-01", "2024-01-01", "2025-01-01", "2024-02-02")}
    assert shown((day["2024-02-01"], day["2024-03-01"])) == "2024-02"
    assert shown((day["2024-01-01"], day["2025-01-01"])) == "2024"
    assert shown((day["2024-02-01"], day["2024-02-02"])) == "2024-02-01"
    assert shown((day["2024-02-02"], day["2024-03-01"])) == "2024-02-02 to 2024-02-29"
