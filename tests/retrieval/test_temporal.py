from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.language.dates import time_readings
from app.retrieval.query.periods import EARLIEST, LATEST, MAX_PERIODS, Period, periods

DAY = 86_400_000
OPEN = {"-": EARLIEST, "+": LATEST}


def ms(day: str) -> int:
    return OPEN.get(day) or int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000


WEDNESDAY = ms("2026-06-10") + DAY // 2


def read(query: str, reference_time: int = WEDNESDAY) -> list[Period]:
    """Read a query as if nothing were older than its latest period."""
    return [replace(period, earlier=()) for period in periods(query, reference_time)]


def earlier(query: str) -> list[str]:
    """Return the days on which the periods before the latest begin."""
    (period,) = periods(query, WEDNESDAY)
    return [datetime.fromtimestamp(start / 1000, UTC).date().isoformat() for start, _ in period.earlier]


def test_a_period_without_a_year_may_have_been_in_each_of_the_nine_years_before() -> None:
    assert earlier("in March") == [f"{year}-03-01" for year in range(2025, 2016, -1)]
    assert earlier("on 12 December")[:2] == ["2024-12-12", "2023-12-12"]
    assert earlier("between March and May")[0] == "2025-03-01"
    assert earlier("on 29 February") == ["2020-02-29", "2016-02-29"]


@pytest.mark.parametrize(
    "query",
    ["in March 2024", "last March", "last week", "yesterday", "on Tuesday", "in 2024", "since March", "before June"],
)
def test_a_period_that_says_which_is_meant_has_been_once(query: str) -> None:
    assert earlier(query) == []


@pytest.mark.parametrize(
    ("query", "start", "end", "text"),
    [
        ("What happened in May 2023?", "2023-05-01", "2023-06-01", "May 2023"),
        ("may 2023", "2023-05-01", "2023-06-01", "may 2023"),
        ("May", "2026-05-01", "2026-06-01", "May"),
        ("what did I do in december", "2025-12-01", "2026-01-01", "december"),
        ("in March last year", "2025-03-01", "2025-04-01", "March last year"),
        ("on 5 June 2023", "2023-06-05", "2023-06-06", "5 June 2023"),
        ("June 5th, 2023 at noon", "2023-06-05", "2023-06-06", "June 5th, 2023"),
        ("Sept. 5, 2023", "2023-09-05", "2023-09-06", "Sept. 5, 2023"),
        ("the 11th of June", "2025-06-11", "2025-06-12", "11th of June"),
        ("on 29 February", "2024-02-29", "2024-03-01", "29 February"),
        ("2023-06-05", "2023-06-05", "2023-06-06", "2023-06-05"),
        ("at 2023-06-05T10:00:00Z", "2023-06-05", "2023-06-06", "2023-06-05T10:00:00Z"),
        ("2023-06-05T23:30:00-05:00", "2023-06-05", "2023-06-06", "2023-06-05T23:30:00-05:00"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20", "2023-05-21", "2023/05/20"),
        ("2023-06", "2023-06-01", "2023-07-01", "2023-06"),
        ("9999-12-31", "9999-12-31", "+", "9999-12-31"),
        ("(2023)", "2023-01-01", "2024-01-01", "2023"),
        ("goals for 2023?", "2023-01-01", "2024-01-01", "2023"),
        ("in the 90s", "1990-01-01", "2000-01-01", "90s"),
        ("in the summer of 2022", "2022-06-01", "2022-09-01", "summer of 2022"),
        ("in the summer", "2026-06-01", "2026-09-01", "summer"),
        ("last winter", "2025-12-01", "2026-03-01", "last winter"),
        ("Q2 2024", "2024-04-01", "2024-07-01", "Q2 2024"),
        ("the last quarter of 2023", "2023-10-01", "2024-01-01", "last quarter of 2023"),
        ("last week", "2026-06-01", "2026-06-08", "last week"),
        ("last weekend", "2026-06-06", "2026-06-08", "last weekend"),
        ("this month", "2026-06-01", "2026-07-01", "this month"),
        ("next year", "2027-01-01", "2028-01-01", "next year"),
        ("yesterday", "2026-06-09", "2026-06-10", "yesterday"),
        ("the day before yesterday", "2026-06-08", "2026-06-09", "day before yesterday"),
        ("TODAY", "2026-06-10", "2026-06-11", "TODAY"),
        ("tomorrow", "2026-06-11", "2026-06-12", "tomorrow"),
        ("two days ago", "2026-06-08", "2026-06-09", "two days ago"),
        ("3 weeks ago", "2026-05-18", "2026-05-25", "3 weeks ago"),
        ("a week ago today", "2026-06-03", "2026-06-04", "a week ago today"),
        ("a month ago yesterday", "2026-05-09", "2026-05-10", "a month ago yesterday"),
        ("the week before last", "2026-05-25", "2026-06-01", "week before last"),
        ("the Monday before last?", "2026-06-01", "2026-06-02", "Monday before last"),
        ("a few days ago", "2026-06-04", "2026-06-09", "a few days ago"),
        ("in the past week", "2026-06-03", "2026-06-11", "past week"),
        ("last three months", "2026-03-10", "2026-06-11", "last three months"),
        ("last Tuesday", "2026-06-09", "2026-06-10", "last Tuesday"),
        ("last Wednesday", "2026-06-03", "2026-06-04", "last Wednesday"),
        ("on Friday", "2026-06-05", "2026-06-06", "Friday"),
        ("next Friday", "2026-06-12", "2026-06-13", "next Friday"),
        ("early March 2023", "2023-03-01", "2023-03-11", "early March 2023"),
        ("mid-2023", "2023-05-02", "2023-09-02", "mid-2023"),
        ("the mid-1990s", "1993-05-02", "1996-09-01", "mid-1990s"),
        ("the winter 2022/23", "2022-12-01", "2023-03-01", "winter 2022"),
        ("12 March 2023-15 March 2023", "2023-03-12", "2023-03-16", "12 March 2023-15 March 2023"),
        ("5 de mayo del 2023", "2023-05-05", "2023-05-06", "5 de mayo del 2023"),
        ("- 12 May 2023: the rent", "2023-05-12", "2023-05-13", "12 May 2023"),
        ("mid-March", "2026-03-11", "2026-03-22", "mid-March"),
        ("the first week of May 2023", "2023-05-01", "2023-05-08", "first week of May 2023"),
        ("the last week of May 2023", "2023-05-25", "2023-06-01", "last week of May 2023"),
        ("the first Friday of May 2023", "2023-05-05", "2023-05-06", "first Friday of May 2023"),
        ("the second Sunday of May", "2026-05-10", "2026-05-11", "second Sunday of May"),
        ("the last Friday of March", "2026-03-27", "2026-03-28", "last Friday of March"),
        ("the last weekend of May 2023", "2023-05-27", "2023-05-29", "last weekend of May 2023"),
        ("the last day of February 2024", "2024-02-29", "2024-03-01", "last day of February 2024"),
        ("the first three days of May 2023", "2023-05-01", "2023-05-04", "first three days of May 2023"),
        ("the last days of 2023", "2023-12-26", "2024-01-01", "last days of 2023"),
        ("the last two weeks of 2023", "2023-12-18", "2024-01-01", "last two weeks of 2023"),
        ("the last month of 2023", "2023-12-01", "2024-01-01", "last month of 2023"),
        ("the second month of last year", "2025-02-01", "2025-03-01", "second month of last year"),
        ("two weeks of July 2023", "2023-07-01", "2023-08-01", "two weeks of July 2023"),
        ("the days of last week", "2026-06-01", "2026-06-08", "days of last week"),
        ("the Sunday of last week", "2026-06-07", "2026-06-08", "Sunday of last week"),
        ("the week of 9 June 2023", "2023-06-05", "2023-06-12", "week of 9 June 2023"),
        ("the month of May 2023", "2023-05-01", "2023-06-01", "month of May 2023"),
        ("the third quarter of 2023", "2023-07-01", "2023-10-01", "third quarter of 2023"),
        ("the weekend of 9 June 2023", "2023-06-10", "2023-06-12", "weekend of 9 June 2023"),
        ("the Sunday before 25 May, 2023", "2023-05-21", "2023-05-22", "Sunday before 25 May, 2023"),
        ("two weeks before 9 June 2023", "2023-05-22", "2023-05-29", "two weeks before 9 June 2023"),
    ],
)
def test_an_expression_is_read_as_the_days_it_means(query: str, start: str, end: str, text: str) -> None:
    assert read(query) == [Period(ms(start), ms(end), text)]


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("before May 2023", "-", "2023-05-01"),
        ("since 2022", "2022-01-01", "+"),
        ("after 5 June", "2026-06-06", "+"),
        ("until last week", "-", "2026-06-08"),
        ("by the end of 2022", "-", "2023-01-01"),
        ("from May 2023 onwards", "2023-05-01", "+"),
    ],
)
def test_a_period_with_one_date_only_is_open_to_the_other_side(query: str, start: str, end: str) -> None:
    assert read(query)[0].text in {query, "by the end of 2022"}
    assert (read(query)[0].start, read(query)[0].end) == (ms(start), ms(end))


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("between March and May 2023", "2023-03-01", "2023-06-01"),
        ("from November to February 2023", "2022-11-01", "2023-03-01"),
        ("March-May 2023", "2023-03-01", "2023-06-01"),
        ("between 5 and 9 June 2023", "2023-06-05", "2023-06-10"),
        ("June 5-9, 2023", "2023-06-05", "2023-06-10"),
        ("2021-2023", "2021-01-01", "2024-01-01"),
        ("between Monday and Wednesday", "2026-06-08", "2026-06-11"),
        ("between January 2023 and now", "2023-01-01", "2026-06-11"),
        ("from March until now", "2026-03-01", "2026-06-11"),
        ("från mars 2023 till nu", "2023-03-01", "2026-06-11"),
        ("from Monday to Friday last week", "2026-06-01", "2026-06-06"),
        ("from 5 June 2023 until 7 July 2023", "2023-06-05", "2023-07-08"),
    ],
)
def test_two_ends_are_one_period(query: str, start: str, end: str) -> None:
    (period,) = read(query)
    assert (period.start, period.end) == (ms(start), ms(end))


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("on 9-12 June", "2026-06-09", "2026-06-13"),
        ("between 10 and 12 June", "2026-06-10", "2026-06-13"),
        ("from 9 June to 2 July", "2026-06-09", "2026-07-03"),
        ("from 11 June to 2 July", "2025-06-11", "2025-07-03"),
        ("from 1 September to 30 December", "2025-09-01", "2025-12-31"),
        ("from 20 December to 5 January", "2025-12-20", "2026-01-06"),
        ("June 11-12", "2025-06-11", "2025-06-13"),
        ("between 27 and 29 February", "2024-02-27", "2024-03-01"),
    ],
)
def test_days_without_a_year_are_the_latest_that_have_begun(query: str, start: str, end: str) -> None:
    (period,) = read(query)
    assert (period.start, period.end) == (ms(start), ms(end))


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("last year in March", "2025-03-01", "2025-04-01"),
        ("last year on 12 July", "2025-07-12", "2025-07-13"),
        ("last year, in the summer", "2025-06-01", "2025-09-01"),
        ("this year in December", "2026-12-01", "2027-01-01"),
        ("in 2023 from March to May", "2023-03-01", "2023-06-01"),
        ("förra året i mars", "2025-03-01", "2025-04-01"),
        ("letztes Jahr im März", "2025-03-01", "2025-04-01"),
    ],
)
def test_a_part_of_the_year_behind_its_year_is_of_that_year(query: str, start: str, end: str) -> None:
    (period,) = periods(query, WEDNESDAY)
    assert (period.start, period.end, period.earlier) == (ms(start), ms(end), ())


@pytest.mark.parametrize(
    ("query", "starts"),
    [
        ("on Monday last week", ["2026-06-01"]),
        ("since Friday last week", ["2026-06-05"]),
        ("on Monday, Tuesday and Friday two weeks ago", ["2026-05-25", "2026-05-26", "2026-05-29"]),
        ("on Friday next week", ["2026-06-19"]),
        ("on Sunday the week before last", ["2026-05-31"]),
    ],
)
def test_a_day_before_its_week_is_of_that_week(query: str, starts: list[str]) -> None:
    assert [period.start for period in periods(query, WEDNESDAY)] == list(map(ms, starts))


@pytest.mark.parametrize(
    ("query", "starts"),
    [
        ("in January and February 2025", ["2025-01-01", "2025-02-01"]),
        ("in January, February and March 2025", ["2025-01-01", "2025-02-01", "2025-03-01"]),
        ("in November and in January 2025", ["2024-11-01", "2025-01-01"]),
        ("on 5 or 8 May 2025 or 12 July 2025", ["2025-05-08", "2025-07-12"]),
        ("on 5 May or 8 May 2025", ["2025-05-05", "2025-05-08"]),
    ],
)
def test_the_year_at_the_end_of_a_list_is_that_of_the_list(query: str, starts: list[str]) -> None:
    assert [period.start for period in periods(query, WEDNESDAY)] == list(map(ms, starts))


def test_two_dates_that_are_no_range_are_two_periods() -> None:
    assert [period.text for period in read("in March and April, or today")] == ["March", "April", "today"]
    assert [period.text for period in read("in May 2023, what was true until June 2023")] == [
        "May 2023",
        "until June 2023",
    ]


def test_the_week_before_a_date_is_both_the_calendars_week_and_the_days_up_to_the_date() -> None:
    (period,) = read("the week before 9 June 2023")
    assert (period.start, period.end) == (ms("2023-05-29"), ms("2023-06-09"))


def test_of_a_numeric_date_the_day_comes_first_where_both_could() -> None:
    assert read("5/6/2023")[0].start == ms("2023-06-05")
    assert read("6/25/2023")[0].start == ms("2023-06-25")


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("was war letzte Woche", "2026-06-01", "2026-06-08"),
        ("im Mai 2023", "2023-05-01", "2023-06-01"),
        ("am 5. Juni 2023", "2023-06-05", "2023-06-06"),
        ("förra veckan", "2026-06-01", "2026-06-08"),
        ("la semaine dernière", "2026-06-01", "2026-06-08"),
        ("5 de junio de 2023", "2023-06-05", "2023-06-06"),
        ("私は2023年5月に何をした", "2023-05-01", "2023-06-01"),
        ("我去年在哪里", "2025-01-01", "2026-01-01"),
        ("العام الماضي", "2025-01-01", "2026-01-01"),
        ("\u0665 مايو \u0662\u0660\u0662\u0663", "2023-05-05", "2023-05-06"),
    ],
)
def test_other_languages_common_expressions_are_read(query: str, start: str, end: str) -> None:
    (period,) = read(query)
    assert (period.start, period.end) == (ms(start), ms(end))


@pytest.mark.parametrize(
    "query",
    [
        "may I ask what you may know",
        "this may be right",
        "the first 5 may be wrong",
        "how did the march 5 miles long go",
        "wait a second, the fall was a long day",
        "April said June was an august person",
        "a spring in my step every Friday and on Black Friday",
        "RFC2023 v2023.1 #2023 $2023 2023€ 2,023 2023.1 CVE-2023-1234 COVID-2023 a@2023",
        "room 2023, port 2024 and 2000 words",
        "the next day and the last time",
        "what I know until now, and what is on now",
        "10.0.0.1 at 12:30, 3/4 of 100",
        "3000 - 2000 is more than model-2000",
        "which language should bills be in?",
        "",
    ],
)
def test_what_only_looks_like_a_date_is_none(query: str) -> None:
    assert read(query) == []


@pytest.mark.parametrize(
    "query",
    ["31 February", "31 February 2023", "32 June 2023", "2023-13-45", "2023-13-05", "2023-02-30", "31/31/2023",
     "0000-01-01", "in 0", "in 99999", "999 decades ago", "2023年13月"],
)  # fmt: skip
def test_a_date_that_does_not_exist_is_none(query: str) -> None:
    assert read(query) == []


@pytest.mark.parametrize("reference_time", [EARLIEST, LATEST, EARLIEST - 1, LATEST + 1, 2**63, -(2**63)])
def test_a_reference_at_or_past_the_calendars_limits_does_not_raise(reference_time: int) -> None:
    for query in (
        "last week",
        "next decade",
        "in May",
        "last winter",
        "the week before today",
        "on Friday",
        "a year ago",
    ):
        assert all(period.start < period.end for period in periods(query, reference_time))
    assert read("5 June 2023", WEDNESDAY)


LONG = [
    "may " * 8192, "lorem ipsum " * 5000, "1" * 32768, "2023 " * 6500, "العام الماضي " * 2500, "\u200b" * 32768,
    "last" + " " * 32000, "the day before the week of " * 1200, "before the " * 3000,
    "5 june 2023 " * 2700, "1-" * 16000,
    "31 february " * 2700, "a few days " * 3000, "去年" * 16000, "may\u200b2023 \u202elast week " * 1500,
]  # fmt: skip


@pytest.mark.parametrize("query", LONG, ids=lambda query: repr(query[:12]))
def test_however_long_a_query_is_the_library_is_asked_a_few_times(query: str) -> None:
    time_readings.read.cache_clear()
    with patch.object(time_readings._DATES, "parse", wraps=time_readings._DATES.parse) as parse:  # noqa: SLF001
        assert len(periods(query, WEDNESDAY)) <= MAX_PERIODS
    assert parse.call_count <= 100


def test_of_a_very_long_query_its_beginning_and_end_are_read() -> None:
    assert [period.text for period in read("in May 2023 " + "and so on " * 1000 + "until today")] == [
        "May 2023",
        "until today",
    ]


def test_a_query_without_a_cue_never_reaches_the_library() -> None:
    with patch.object(time_readings, "_days") as days:
        assert read("which language should the payments team's bills be in?") == []
    days.assert_not_called()


TIMES = st.integers(EARLIEST, LATEST)
VOCABULARY = (
    "before after since until between and to from in on of the last next this early mid end first week weekend month "
    "year day may May june tuesday summer Q2 5 31 29 February 2023 0 9999 99999 5/6/2023 2023-06-05 ago a few two days "
    "yesterday 2021-2023 - , 去年 5月 letzte förra İ \u200b \u0662"
)
WORDS = st.sampled_from(VOCABULARY.split())


@given(st.text() | st.lists(WORDS, max_size=12).map(" ".join), TIMES)
def test_any_text_yields_a_few_true_periods_in_its_own_words(query: str, reference_time: int) -> None:
    found = periods(query, reference_time)
    assert len(found) <= MAX_PERIODS
    for period in found:
        assert EARLIEST <= period.start < period.end <= LATEST
        assert period.text in query


@given(
    st.dates(date(1000, 1, 1), date(2999, 12, 31)),
    st.sampled_from(["%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%B %Y", "%Y年%m月%d日"]),
    TIMES,
)
def test_the_period_of_a_date_with_its_year_holds_the_date(day: date, form: str, reference_time: int) -> None:
    (period,) = periods(f"what happened on {day.strftime(form)}?", reference_time)
    start = ms(day.isoformat())
    assert period.start <= start < start + DAY <= period.end
    assert period.end - period.start <= 31 * DAY


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.integers(0, 400))
def test_a_day_without_a_year_is_the_latest_not_after_the_reference(reference: date, back: int) -> None:
    day = reference - timedelta(days=back)
    (period,) = periods(f"on {day.day} {day.strftime('%B')}", ms(reference.isoformat()))
    read_day = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=period.start)).date()
    assert (read_day.month, read_day.day) == (day.month, day.day)
    assert day <= read_day <= reference


@given(st.integers(0, DAY - 1))
def test_only_the_day_of_the_reference_matters(moment: int) -> None:
    assert periods("last week", ms("2026-06-10") + moment) == periods("last week", WEDNESDAY)
