"""A foreign format: how its files are read, entry by entry."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO, TypeAlias

from app.domain.errors import InvalidRequest
from app.domain.json_types import Json
from app.services.transfer.formats.values import Document, values
from app.services.transfer.record import Record

ReadingProgress: TypeAlias = Callable[[int, int | None], object]
"""Is told how much of a file was taken and of how much: entries of a document, bytes of lines; None is all it has."""
Located: TypeAlias = tuple[str, Json]
"""A value and where in the file it stands."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One foreign entry that cannot be taken; the rest goes on.

    Attributes:
        place: Where it stands, as in ``results[3]`` or ``line 7``.
        reason: What is wrong with it, without a word of what it says.
    """

    place: str
    reason: str


class Untaken(Exception):
    """An entry that cannot be taken; the text says why, and becomes the reason of a ``Flaw``."""


@dataclass(frozen=True, slots=True)
class Format:
    """How memories are found in one foreign format's JSON.

    Attributes:
        entries: Finds the entries in a document, or in one line of a file of lines; None where it holds none.
        take: Makes a record of an entry; raises ``Untaken``. The second argument is the agent of every memory that
            names none.
    """

    name: str
    entries: Callable[[Json], Sequence[Located] | None]
    take: Callable[[Json, str], Record]

    def read(
        self, stream: TextIO, agent_id: str, progress: ReadingProgress = lambda _done, _of: None
    ) -> Iterator[Record | Flaw]:
        """Yield what a file holds, in its order: a JSON document, or lines of JSON.

        Of lines, one is held at a time; a document is held whole. ``progress`` is called after each.

        Raises:
            InvalidRequest: the document is not of the format.
            MalformedRequest: the file is not JSON.
        """
        for value in values(stream):
            line = "" if isinstance(value, Document) else f"line {value.number}"
            entries = self.entries(value.value)
            if entries is None and not line:
                raise InvalidRequest(f"The file is JSON, but not of the format {self.name}.")
            located: Sequence[Located] = [("", None)] if entries is None else entries
            for number, (place, entry) in enumerate(located, start=1):
                yield self._taken(": ".join(filter(None, (line, place))) or "the document", entry, agent_id)
                if isinstance(value, Document):
                    progress(number, len(located))
            if not isinstance(value, Document):
                progress(value.end, None)

    def _taken(self, place: str, entry: Json, agent_id: str) -> Record | Flaw:
        try:
            return self.take(entry, agent_id)
        except Untaken as reason:
            return Flaw(place, str(reason))
        except RecursionError:
            return Flaw(place, "is nested too deeply")


def listed(value: Json, *, within: Sequence[str], mark: str) -> Sequence[Located] | None:
    """Find entries: a list, a list in a field ``within`` an object, or a lone object that has the field ``mark``."""
    if isinstance(value, list):
        return [(f"[{position}]", entry) for position, entry in enumerate(value)]
    if not isinstance(value, Mapping):
        return None
    for field in within:
        if isinstance(entries := value.get(field), list):
            return [(f"{field}[{position}]", entry) for position, entry in enumerate(entries)]
    return [("", value)] if mark in value else None
