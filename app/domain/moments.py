"""Moments: integer milliseconds since the Unix epoch in UTC, and RFC 3339 text."""

import re
import time
from datetime import UTC, datetime, timedelta

from ulid import ULID

DAY_MS = 86_400_000
"""The milliseconds of a day."""
_RFC_3339 = re.compile(r"(\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MOMENT = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
"""The first moment of the calendar, in ms since the epoch: one before it cannot be written out."""
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]
"""Two of a ULID's characters, by their ten bits."""
_SHIFTS = range(120, -1, -10)
_EPOCH_WITHOUT_ZONE = _EPOCH.replace(tzinfo=None)


def wall_clock() -> int:
    """Return now in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def new_id(now: int | None = None) -> str:
    """Return a new ULID, which begins with a moment: ``now``, in ms since the epoch, or else the wall clock's now."""
    made = ULID() if now is None else ULID.from_datetime(moment(now))
    number = int.from_bytes(made.bytes)
    return "".join([_PAIRS[number >> bits & 1023] for bits in _SHIFTS])


def milliseconds(moment: datetime, *, up: bool = False) -> int:
    """Milliseconds since the epoch of an aware datetime, rounded down, or up on request."""
    since = moment - _EPOCH
    return -(-since // timedelta(milliseconds=1)) if up else since // timedelta(milliseconds=1)


def moment(milliseconds_: int) -> datetime:
    """Turn milliseconds since the epoch into an aware datetime."""
    return _EPOCH + timedelta(milliseconds=milliseconds_)


def parse_moment(text: str) -> datetime:
    """Read a timestamp with its offset, as RFC 3339 writes it; a leap second counts as the next second.

    Raises:
        ValueError: the text has another form, or is no moment of the calendar in UTC.
    """
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("must be a timestamp with its offset, as in 2026-01-31T09:30:00Z (RFC 3339)")
    date, seconds, fraction, offset = match.groups()
    leap = timedelta(seconds=1) if seconds == "60" else timedelta(0)
    whole = f"{date[:10]}T{date[11:]}:{'59' if leap else seconds}"
    try:
        written = datetime.fromisoformat(f"{whole}.{(fraction or '').ljust(6, '0')[:6]}{offset.upper()}") + leap
        return written.astimezone(UTC)  # a moment that is not of the calendar in UTC could never be written out
    except (ValueError, OverflowError) as error:
        raise ValueError("must be a moment of the calendar, of the years 1 to 9999") from error


def parse_moment_or_day(text: str) -> datetime:
    """Read a timestamp as ``parse_moment`` does, or a day, of which the result is the moment in UTC when it begins.

    Raises:
        ValueError: the text is neither, or not of the calendar.
    """
    if _DAY.fullmatch(text) is None:
        return parse_moment(text)
    return parse_moment(f"{text}T00:00:00Z")


def format_moment(milliseconds_: int) -> str:
    """Write milliseconds since the epoch as RFC 3339 in UTC."""
    # An answer has ten moments: without the zone, which is always the same, writing each takes half as long.
    return (_EPOCH_WITHOUT_ZONE + timedelta(milliseconds=milliseconds_)).isoformat(timespec="milliseconds") + "Z"


def format_day(milliseconds_: int) -> str:
    """Write the day of milliseconds since the epoch in UTC, as in 2026-01-31."""
    return moment(milliseconds_).date().isoformat()
