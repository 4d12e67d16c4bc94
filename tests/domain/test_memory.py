from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import ContentTooLarge, InvalidRequest
from app.domain.memory import NewMemory
from app.domain.moments import format_moment, milliseconds, moment, parse_moment
from app.domain.query import Filter, Query

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60).filter(
    str.strip
)
zones = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=zones))  # noqa: DTZ001 - zones are given
def test_a_timestamp_is_read_as_the_moment_it_names(when: datetime) -> None:
    assert parse_moment(when.isoformat()) == when
    assert parse_moment(when.isoformat().lower()) == when
    assert abs(moment(milliseconds(when)) - when) < timedelta(milliseconds=1)


@given(st.integers(-62_135_500_000_000, 253_402_200_000_000))
def test_milliseconds_survive_being_written_and_read(instant: int) -> None:
    assert milliseconds(parse_moment(format_moment(instant))) == instant


def test_milliseconds_are_rounded_as_asked() -> None:
    between = datetime(2026, 1, 1, 0, 0, 0, 1500, tzinfo=UTC)
    assert milliseconds(between, up=True) - milliseconds(between) == 1
    whole = datetime(2026, 1, 1, tzinfo=UTC)
    assert milliseconds(whole, up=True) == milliseconds(whole) == 1767225600000


def test_a_leap_second_is_the_next_second_and_more_digits_than_microseconds_are_cut() -> None:
    assert parse_moment("2016-12-31T23:59:60Z") == datetime(2017, 1, 1, tzinfo=UTC)
    assert parse_moment("2026-01-01T00:00:00.123456789Z").microsecond == 123456


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-13-01T00:00:00Z",
        "2026-01-01T00:00:00+25:00",
        "9999-12-31T23:59:60Z",
        "٢٠٢٦-01-01T00:00:00Z",
    ],
)
def test_anything_else_is_no_timestamp(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_moment(text)


@pytest.mark.parametrize(
    "text",
    [
        "0000-01-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-01-01T00:00:00+24:00",
        "9999-12-31T23:59:60-23:59",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59.999999999-12:00",
    ],
)
def test_a_timestamp_beyond_the_calendar_is_refused_in_words_for_whoever_wrote_it(text: str) -> None:
    with pytest.raises(ValueError, match="must be a moment of the calendar, of the years 1 to 9999"):
        parse_moment(text)


@given(texts, st.none() | texts, st.none() | st.integers())
def test_only_the_same_content_session_and_time_have_the_same_hash(
    content: str, session: str | None, occurred_at: int | None
) -> None:
    memory = NewMemory(content, {"a": 1}, session, occurred_at)
    assert memory.content_hash == NewMemory(content, {}, session, occurred_at).content_hash
    others = [
        NewMemory(content + "x", {}, session, occurred_at),
        NewMemory(content, {}, (session or "y") + "x", occurred_at),
        NewMemory(content, {}, session, (occurred_at or 0) + 1),
        NewMemory(content, {}, None if session is not None else "x", occurred_at),
    ]
    assert memory.content_hash not in {other.content_hash for other in others}


def test_a_memory_outside_its_bounds_cannot_be_made_and_every_such_field_is_named() -> None:
    with pytest.raises(InvalidRequest) as caught:
        NewMemory(" ", {"a": 2**63}, "s" * 257)
    assert [error.field for error in caught.value.errors] == ["content", "metadata", "session_id"]
    with pytest.raises(ContentTooLarge):
        NewMemory("x" * 32769)


def test_a_model_is_given_twenty_entries_at_most_and_a_program_fifty() -> None:
    assert (Query("tea", 20, for_model=True).top_k, Query("tea", 50).top_k) == (20, 50)
    with pytest.raises(InvalidRequest) as caught:
        Query("tea", 21, for_model=True)
    assert [error.field for error in caught.value.errors] == ["top_k"]


def test_a_query_outside_its_bounds_cannot_be_made_and_every_such_field_is_named() -> None:
    with pytest.raises(InvalidRequest) as caught:
        Query("", 51, Filter(metadata={"a": "\0"}), min_score=1.1, max_tokens=0, recency_days=0)
    assert {error.field for error in caught.value.errors} == {
        *("query", "top_k", "filter.metadata", "min_score", "max_tokens", "recency_days")
    }
