"""Fields of moments read what pages show, days, and RFC 3339."""

import pytest

from app.domain.errors import InvalidRequest
from app.domain.moments import milliseconds, parse_moment
from app.interfaces.console.fields import FormFields, shown_moment

NOON = milliseconds(parse_moment("2026-11-29T12:00:00Z"))


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-29 12:00:00", NOON),
        ("2026-11-29 12:00", NOON),
        ("2026-11-29T12:00", NOON),
        ("2026-11-29 12:00:00 UTC", NOON),
        ("2026-11-29T12:00:00Z", NOON),
        ("2026-11-29T13:00:00+01:00", NOON),
        (" 2026-11-29 12:00:07 ", NOON + 7_000),
        ("2026-11-29", NOON - 12 * 3_600_000),
        ("", None),
    ],
)
def test_a_moment_is_read_in_each_of_its_forms(text: str, at: int | None) -> None:
    assert FormFields({"as_of": text}).moment("as_of") == at


@pytest.mark.parametrize(
    "text", ["yesterday", "2026-02-30 10:00", "2026-11-29 25:00", "12:00", "2026-11-29 12", "29.11."]
)
def test_what_is_no_moment_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(InvalidRequest, match="2026-01-31 09:30:00"):
        FormFields({"as_of": text}).moment("as_of")


@pytest.mark.parametrize("at", [NOON, NOON + 1, NOON + 999])
def test_what_happened_at_the_moment_that_a_page_shows_is_within_that_moment(at: int) -> None:
    fields = FormFields({"second": shown_moment(at), "minute": shown_moment(at)[:16], "day": shown_moment(at)[:10]})
    assert fields.moment("second", to_its_end=True) == NOON + 999
    assert fields.moment("minute", to_its_end=True) == NOON + 59_999
    assert fields.moment("second") == NOON
    assert fields.moment("day", to_its_end=True) == NOON - 12 * 3_600_000
