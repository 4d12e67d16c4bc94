"""The ways in which other systems write a moment."""

import math
import re
from datetime import UTC, datetime

from app.model import Json, format_moment, milliseconds, parse_moment
from app.transfer.formats.form import Untaken

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MILLISECONDS_FROM = 1e11
"""An epoch number this far from 0 counts milliseconds: as seconds it would be later than the year 5138."""


def read_moment(value: Json) -> int:
    """Read a moment as milliseconds since the epoch, UTC.

    It is a text in the form of RFC 3339 or ISO 8601, in UTC where it has no offset and at midnight where it is a day;
    or a number of seconds, or of milliseconds where it is too large for seconds.

    Raises:
        ValueError: it is anything else, or no moment of the years 1 to 9999.
    """
    if isinstance(value, str):
        return _in_calendar(milliseconds(_parsed(value.strip())))
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return _in_calendar(round(value if abs(value) >= _MILLISECONDS_FROM else value * 1000))
    raise ValueError("must be a timestamp or a number of seconds")


def is_moment(value: object) -> bool:
    """Whether it is a number of milliseconds since the epoch in the years 1 to 9999."""
    try:
        return isinstance(value, int) and not isinstance(value, bool) and _in_calendar(value) == value
    except ValueError:
        return False


def names_exactly(value: Json, moment_: int) -> bool:
    """Whether what was written of a moment is read as that moment."""
    try:
        return read_moment(value) == moment_
    except ValueError:
        return False


def moment_of(field: str, value: Json) -> int | None:
    """Read the moment in a field; None stays None.

    Raises:
        Untaken: it cannot be read.
    """
    try:
        return None if value is None else read_moment(value)
    except ValueError as error:
        raise Untaken(f"{field} is no moment of the years 1 to 9999") from error


def _parsed(text: str) -> datetime:
    text = f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text
    try:
        return parse_moment(text)
    except ValueError:
        when = datetime.fromisoformat(text)
        return when if when.tzinfo else when.replace(tzinfo=UTC)


def _in_calendar(instant: int) -> int:
    try:
        format_moment(instant)
    except OverflowError as error:
        raise ValueError("must be a moment of the years 1 to 9999") from error
    return instant
