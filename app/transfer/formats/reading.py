"""A file of a foreign format, read entry by entry."""

from collections.abc import Iterator
from typing import TextIO

from app.errors import InvalidRequest
from app.transfer.formats.form import Dialect, Flaw, Located, Untaken
from app.transfer.formats.values import Document, values
from app.transfer.record import Record


def records(stream: TextIO, agent_id: str, dialect: Dialect) -> Iterator[Record | Flaw]:
    """Read a JSON document or lines of JSON, each an entry, a list of them or an answer that holds some.

    Of lines, one is held at a time; a document is held whole.

    Raises:
        InvalidRequest: the document is not of the format.
        MalformedRequest: the file is not JSON.
    """
    for value in values(stream):
        line = "" if isinstance(value, Document) else f"line {value.number}"
        entries = dialect.entries(value.value)
        if entries is None and not line:
            raise InvalidRequest(f"The file is JSON, but not of the format {dialect.name}.")
        for place, entry in entries if entries is not None else [("", None)]:
            yield _taken((_joined(line, place), entry), agent_id, dialect)


def _taken(located: Located, agent_id: str, dialect: Dialect) -> Record | Flaw:
    place, entry = located
    try:
        return dialect.take(entry, agent_id)
    except Untaken as reason:
        return Flaw(place, str(reason))
    except RecursionError:
        return Flaw(place, "is nested too deeply")


def _joined(line: str, place: str) -> str:
    return f"{line}: {place}" if line and place else line or place or "the document"
