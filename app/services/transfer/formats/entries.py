"""One foreign entry, taken field by field; the fields that are not taken go to the metadata."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from app.domain.json_types import Json
from app.domain.moments import format_moment, milliseconds, parse_moment

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MILLISECONDS_FROM = 1e11
"""An epoch number this far from 0 counts milliseconds: as seconds it would be later than the year 5138."""


class Untaken(Exception):
    """An entry that cannot be taken; the text says why, and becomes the reason of a ``Flaw``."""


class ForeignEntry(dict[str, Json]):
    """The fields of an entry that are not taken yet."""

    def drop(self, *names: str) -> None:
        """Drop fields that say nothing of the memory."""
        for name in names:
            self.pop(name, None)

    def drop_repeated(self, name: str, *, of: str) -> None:
        """Drop a field that has the value of another."""
        if self.get(name) == self.get(of):
            self.drop(name)

    def content(self, name: str) -> str:
        """Take the text of the memory; raises ``Untaken`` where the value is no text."""
        text = self.pop(name, None)
        if not isinstance(text, str):
            raise Untaken(f"has no text in {name}")
        return text

    def metadata(self, name: str) -> dict[str, Json]:
        """Take the entry's own metadata; raises ``Untaken`` where the value is no object."""
        metadata = {} if (value := self.pop(name, None)) is None else value
        if not isinstance(metadata, Mapping):
            raise Untaken(f"has no object in {name}")
        return dict(metadata)

    def moment(self, name: str) -> int | None:
        """Take a moment; raises ``Untaken`` where the value is no moment."""
        value = self.pop(name, None)
        try:
            return None if value is None else _read_moment(value)
        except ValueError as error:
            raise Untaken(f"{name} is no moment of the years 1 to 9999") from error

    def name(self, name: str) -> str | None:
        """Take a text that names something; a blank text or another value stays."""
        value = self.get(name)
        if not isinstance(value, str) or not value.strip():
            return None
        self.drop(name)
        return value


def is_name(value: Json) -> bool:
    """Tell whether a value is a text that names something."""
    return isinstance(value, str) and bool(value.strip())


def _read_moment(value: Json) -> int:
    """Read a moment, however it is written, as milliseconds since the epoch, UTC.

    The value is a text in the form of RFC 3339 or ISO 8601, in UTC where it has no offset and at midnight where it is a
    day; or a number of seconds, or of milliseconds where it is too large for seconds.

    Raises:
        ValueError: the value has another form, or is no moment of the years 1 to 9999.
    """
    if isinstance(value, str):
        return _in_calendar(milliseconds(_parsed(value.strip())))
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return _in_calendar(round(value if abs(value) >= _MILLISECONDS_FROM else value * 1000))
    raise ValueError("must be a timestamp or a number of seconds")


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
