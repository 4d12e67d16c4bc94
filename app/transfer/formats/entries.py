"""One foreign entry, taken field by field; what no field of ours takes goes to the metadata."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from app.limits import METADATA_BYTES, METADATA_DEPTH
from app.model import Json
from app.transfer.formats.envelope import unpacked
from app.transfer.formats.form import Untaken
from app.transfer.formats.moments import moment_of
from app.transfer.record import Record

_SURROGATE = re.compile("[\ud800-\udfff]")


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

    def content(self, *names: str) -> str:
        """Take the text of the memory from the first of these fields that is there."""
        name = next((name for name in names if name in self), None)
        text = self.take(name) if name else None
        if not isinstance(text, str):
            raise Untaken(f"has no text in {' or '.join(names)}")
        return text

    def metadata(self, *names: str) -> dict[str, Json]:
        """Take the entry's own metadata from the first of these fields that is there."""
        name = next((name for name in names if name in self), None)
        metadata = self.take(name) if name else {}
        if not isinstance(metadata, Mapping):
            raise Untaken(f"has no object in {name}")
        return dict(metadata)

    def moment(self, name: str) -> int | None:
        """Take a moment; raises ``Untaken`` where it is none."""
        return moment_of(name, self.take(name))

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
    record = unpacked(replace(record, metadata=metadata))
    if not record.content.strip():
        raise Untaken("has a blank text")
    for text in (record.content, record.session_id or "", *_texts(record.metadata)):
        if "\0" in text or _SURROGATE.search(text):
            raise Untaken("holds NUL or a lone surrogate")
    return record


def native(
    metadata: Mapping[str, Json], prefix: str, fits: Mapping[str, Callable[[Json], bool]]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Part metadata into the format's own fields, as ``finished`` put them there, and all else.

    Args:
        metadata: A record's.
        prefix: The format's.
        fits: For each field that the format takes, what its values are.
    """
    own = {f"{prefix}.{name}": name for name in fits}
    moved = {key for key, value in metadata.items() if key in own and fits[own[key]](value)}
    rest = {key: value for key, value in metadata.items() if key not in moved}
    return {own[key]: metadata[key] for key in moved}, rest


def is_name(value: Json) -> bool:
    """Whether it is a text that names something."""
    return isinstance(value, str) and bool(value.strip())


def are_names(value: Json) -> bool:
    """Whether it is a list of texts, and not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


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
