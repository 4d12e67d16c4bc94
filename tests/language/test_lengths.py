"""Laws of the lengths of time between days."""

import re
from datetime import date, timedelta

import pytest
from dateutil.relativedelta import relativedelta
from hypothesis import given
from hypothesis import strategies as st

from app.language.dates.lengths import UNITS, Unit, length, length_of

DAYS = st.dates().map(date.toordinal)
UNIT = st.sampled_from(UNITS)


def parts(told: str) -> dict[str, int]:
    return {unit: int(count) for count, unit in re.findall(r"(\d+) (day|week|month|year)", told)}


def days(first: int, last: int) -> int:
    return parts(length(first, last, "day"))["day"]


@given(DAYS, DAYS, DAYS)
def test_the_days_to_a_middle_day_and_from_it_on_are_those_of_the_whole(one: int, two: int, three: int) -> None:
    first, middle, last = sorted((one, two, three))
    assert days(first, middle) + days(middle, last) == days(first, last)


@given(DAYS, DAYS, UNIT)
def test_a_length_in_any_unit_leads_from_its_first_day_to_its_last(one: int, two: int, unit: Unit) -> None:
    first, last = sorted((one, two))
    told = parts(length(first, last, unit))
    steps = {f"{name}s": count for name, count in told.items()}
    assert date.fromordinal(first) + relativedelta(**steps) == date.fromordinal(last)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "last", "unit", "told"),
    [
        ("2024-02-28", "2024-03-01", "day", "2 days"),
        ("2023-02-28", "2023-03-01", "day", "1 day"),
        ("2024-02-29", "2025-02-28", "year", "1 year"),
        ("2024-02-29", "2028-02-29", "year", "4 years"),
        ("2023-01-31", "2023-02-28", "month", "1 month"),
        ("2023-01-31", "2023-03-01", "month", "1 month and 1 day"),
        ("2026-05-04", "2026-05-04", "week", "0 weeks"),
        ("0001-01-01", "9999-12-31", "day", "3652058 days"),
        ("0001-01-01", "9999-12-31", None, "3652058 days, that is 9998 years, 11 months and 30 days"),
    ],
)
def test_leap_years_month_ends_and_the_ends_of_the_calendar_are_counted(
    first: str, last: str, unit: Unit | None, told: str
) -> None:
    assert length(date.fromisoformat(first).toordinal(), date.fromisoformat(last).toordinal(), unit) == told


@given(st.dates(date(1000, 1, 1), date(9000, 1, 1)), *[st.integers(1, 400)] * 3)
def test_a_length_between_stretches_has_the_shortest_and_the_longest_as_its_bounds(
    start: date, first: int, gap: int, last: int
) -> None:
    begin = start.toordinal()
    one, two = (begin, begin + first), (begin + first + gap, begin + first + gap + last)
    told = [int(each) for each in re.findall(r"\d+", length_of(one, two, "day"))]
    every = [(start + timedelta(days=each)).toordinal() for each in (first - 1, 0)]
    bounds = [two[0] - every[0], two[1] - 1 - every[1]]
    assert told == (bounds if bounds[0] != bounds[1] else bounds[:1])
