"""What a foreign format is to this service."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO, TypeAlias

from app.model import Json
from app.transfer.record import Record

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


@dataclass(frozen=True, slots=True)
class Format:
    """A foreign format, read and, where that system takes memories in, written.

    Attributes:
        read: Yields what a file of the format holds, in its order. The second argument is the agent of every memory
            that names none. A file that is not of the format raises ``InvalidRequest``.
        write: Yields pieces of a file, to be written one after another; None where the system takes no memories in.
    """

    name: str
    read: Callable[[TextIO, str], Iterator[Record | Flaw]]
    write: Callable[[Iterable[Record]], Iterator[str]] | None


class Untaken(Exception):
    """An entry that cannot be taken; the text says why, and becomes the reason of a ``Flaw``."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How memories are found in one format's JSON.

    Attributes:
        entries: Finds the entries in a document, or in one line of a file of lines; None where it holds none.
        take: Makes a record of an entry; raises ``Untaken``.
    """

    name: str
    entries: Callable[[Json], Sequence[Located] | None]
    take: Callable[[Json, str], Record]


def listed(value: Json, *, within: Sequence[str], marks: Sequence[str]) -> Sequence[Located] | None:
    """Find entries: a list, a list in a field ``within`` an object, or a lone object that has one of the ``marks``."""
    if isinstance(value, list):
        return [(f"[{position}]", entry) for position, entry in enumerate(value)]
    if not isinstance(value, Mapping):
        return None
    for field in within:
        if isinstance(entries := value.get(field), list):
            return [(f"{field}[{position}]", entry) for position, entry in enumerate(entries)]
    return [("", value)] if any(mark in value for mark in marks) else None
