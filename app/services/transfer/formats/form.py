"""A foreign format: how its files are read, entry by entry."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TextIO, TypeAlias

from app.domain.errors import InvalidRequest
from app.domain.json_types import Json
from app.domain.limits import METADATA_BYTES, METADATA_DEPTH
from app.services.transfer.formats.entries import ForeignEntry, Untaken
from app.services.transfer.formats.values import values
from app.services.transfer.record import Record

ReadingProgress: TypeAlias = Callable[[int, int | None], object]
"""Takes how much of a file was read, and of how much: entries of a document, bytes of lines; None: all of the file."""
Located: TypeAlias = tuple[str, Json]
"""The place of a value in the file, and the value."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Flaw:
    """One foreign entry that cannot be taken; the other entries are read on.

    Attributes:
        place: The place of the entry, as in ``results[3]`` or ``line 7``.
        reason: Why the entry cannot be taken, without any of its content.
    """

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Format:
    """How memories are found in one foreign format's JSON.

    A document, or a line of a file of lines, is a list of entries, an object with such a list, or one entry.

    Attributes:
        within: The fields that may have the list.
        mark: The field by which an object is known to be an entry.
        take: Makes a record of an entry's fields; raises ``Untaken``. The second argument is the agent of every memory
            that names no agent. The fields that it does not take go to the metadata.
    """

    name: str
    within: Sequence[str]
    mark: str
    take: Callable[[ForeignEntry, str], Record]

    def read(
        self, stream: TextIO, agent_id: str, progress: ReadingProgress = lambda _done, _of: None
    ) -> Iterator[Record | Flaw]:
        """Yield the entries of a file in their order; the file is a JSON document, or lines of JSON.

        Of lines, one line is held at a time; a document is held whole. ``progress`` is called after each entry of a
        document, or after each line.

        Raises:
            InvalidRequest: the document is not of the format.
            MalformedRequest: the file is not JSON.
        """
        for source in values(stream):
            line = None if source.line is None else f"line {source.line}"
            entries = self._entries(source.value)
            if entries is None and line is None:
                raise InvalidRequest(f"The file is JSON, but not of the format {self.name}.")
            located = [("", None)] if entries is None else entries
            for number, (place, entry) in enumerate(located, start=1):
                yield self._taken(": ".join(filter(None, (line, place))) or "the document", entry, agent_id)
                if line is None:
                    progress(number, len(located))
            if line is not None:
                progress(source.end, None)

    def _entries(self, value: Json) -> Sequence[Located] | None:
        """Find the entries in a document or a line; None where the value is not of the format."""
        if isinstance(value, list):
            return [(f"[{position}]", entry) for position, entry in enumerate(value)]
        if not isinstance(value, Mapping):
            return None
        for field in self.within:
            if isinstance(entries := value.get(field), list):
                return [(f"{field}[{position}]", entry) for position, entry in enumerate(entries)]
        return [("", value)] if self.mark in value else None

    def _taken(self, place: str, entry: Json, agent_id: str) -> Record | Flaw:
        try:
            if not isinstance(entry, Mapping):
                raise Untaken("is no JSON object")  # noqa: TRY301 - one place makes the flaw
            fields = ForeignEntry(entry)
            fields.drop_repeated("updated_at", of="created_at")
            return _storable(_with_rest(self.take(fields, agent_id), self.name, fields))
        except Untaken as reason:
            return Flaw(place, str(reason))
        except RecursionError:
            return Flaw(place, "is nested too deeply")


def _with_rest(record: Record, prefix: str, rest: Mapping[str, Json]) -> Record:
    """Put the fields that are left of an entry into the metadata as ``<prefix>.<field>``; ``_`` follows a key in use.

    A field that is null is left out.
    """
    metadata = dict(record.metadata)
    for name, value in rest.items():
        if value is None:
            continue
        key = f"{prefix}.{name}"
        while key in metadata:
            key += "_"
        metadata[key] = value
    return replace(record, metadata=metadata)


def _storable(record: Record) -> Record:
    """Return a record; raises ``Untaken`` where a text in it cannot be stored, whatever the limits."""
    if not record.content.strip():
        raise Untaken("has a blank text")
    for text in (record.content, record.session_id or "", *_texts(record.metadata)):
        if "\0" in text or _SURROGATE.search(text):
            raise Untaken("holds NUL or a lone surrogate")
    return record


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
