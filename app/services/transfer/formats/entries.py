"""One foreign entry, taken field by field; what no field of ours takes goes to the metadata."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from app.domain.json_types import Json
from app.domain.limits import METADATA_BYTES, METADATA_DEPTH
from app.domain.moments import format_moment, milliseconds, parse_moment
from app.services.transfer.formats.form import Untaken
from app.services.transfer.record import Record

_SURROGATE = re.compile("[\ud800-\udfff]")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MILLISECONDS_FROM = 1e11
"""An epoch number this far from 0 counts milliseconds: as seconds it would be later than the year 5138."""


class Fields:
    """The fields of an entry that are not taken yet."""

    def __init__(self, entry: Json) -> None:
        """Begin with all; raises ``Untaken`` where it is no object."""
        if not isinstance(entry, Mapping):
            raise Untaken("is no JSON object")
        self._left = dict(entry)

    def __contains__(self, name: str) -> bool:
        """Whether a field is there and not null."""
        return self._left.get(name) is not None

    def peek(self, name: str) -> Json:
        """Read a field that stays."""
        return self._left.get(name)

    def take(self, name: str) -> Json:
        """Take a field; None where it is not there."""
        return self._left.pop(name, None)

    def drop(self, *names: str) -> None:
        """Leave fields behind that say nothing of the memory."""
        for name in names:
            self._left.pop(name, None)

    def drop_repeated(self, name: str, *, of: str) -> None:
        """Leave a field behind that says what another says."""
        if self.peek(name) == self.peek(of):
            self.drop(name)

    def content(self, name: str) -> str:
        """Take the text of the memory; raises ``Untaken`` where it is none."""
        text = self.take(name)
        if not isinstance(text, str):
            raise Untaken(f"has no text in {name}")
        return text

    def metadata(self, name: str) -> dict[str, Json]:
        """Take the entry's own metadata; raises ``Untaken`` where it is no object."""
        metadata = {} if (value := self.take(name)) is None else value
        if not isinstance(metadata, Mapping):
            raise Untaken(f"has no object in {name}")
        return dict(metadata)

    def moment(self, name: str) -> int | None:
        """Take a moment; raises ``Untaken`` where it is none."""
        value = self.take(name)
        try:
            return None if value is None else _read_moment(value)
        except ValueError as error:
            raise Untaken(f"{name} is no moment of the years 1 to 9999") from error

    def name(self, name: str) -> str | None:
        """Take a text that names something; a blank one or another value stays."""
        value = self.peek(name)
        if not isinstance(value, str) or not value.strip():
            return None
        self.drop(name)
        return value

    def left(self) -> dict[str, Json]:
        """What nothing took and is not null."""
        return {name: value for name, value in self._left.items() if value is not None}


def finished(record: Record, prefix: str, rest: Mapping[str, Json]) -> Record:
    """Put what is left of an entry into the metadata as ``<prefix>.<field>``, and look for what no memory may hold.

    A key that the metadata has already gets ``_`` at its end.

    Raises:
        Untaken: the text is blank, or something in it cannot be stored whatever the limits.
    """
    metadata = dict(record.metadata)
    for name, value in rest.items():
        metadata[_free(f"{prefix}.{name}", metadata)] = value
    record = replace(record, metadata=metadata)
    if not record.content.strip():
        raise Untaken("has a blank text")
    for text in (record.content, record.session_id or "", *_texts(record.metadata)):
        if "\0" in text or _SURROGATE.search(text):
            raise Untaken("holds NUL or a lone surrogate")
    return record


def is_name(value: Json) -> bool:
    """Whether it is a text that names something."""
    return isinstance(value, str) and bool(value.strip())


def _free(key: str, taken: Mapping[str, Json]) -> str:
    while key in taken:
        key += "_"
    return key


def _texts(metadata: Mapping[str, Json]) -> Iterator[str]:
    level: list[Json] = [metadata]
    for _ in range(METADATA_DEPTH):
        level = [child for value in level for child in _children(value)]
        yield from (value for value in level if isinstance(value, str))
    if any(isinstance(value, list | Mapping) for value in level):
        raise Untaken(f"is nested deeper than {METADATA_DEPTH} levels")


def _children(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        if any(len(key) > METADATA_BYTES for key in value):
            raise Untaken(f"has a field whose name is longer than {METADATA_BYTES} bytes")
        yield from value
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _read_moment(value: Json) -> int:
    """Read a moment, however it is written, as milliseconds since the epoch, UTC.

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
