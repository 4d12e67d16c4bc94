"""What every call is made of: one request, not yet sent."""

import json
import secrets
import warnings
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

from memory_gateway_client.ulids import new_ulid

T = TypeVar("T")

Line: TypeAlias = dict[str, Any]
"""One line of an export, of an import's report, or of the acts: a JSON object."""

Lines: TypeAlias = Iterable[Line | str | bytes] | AsyncIterable[Line | str | bytes]
"""The lines of an export: objects, or as they were written. An ``AsyncMemoryClient`` takes either kind."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, not yet sent.

    Attributes:
        answer: What the answer is read as; ``bytes`` and ``str`` are not read as JSON.
        content: The body where it is no JSON; ``headers`` have its Content-Type.
        status: The status with which the service does what is asked.
        also: The others with which it does so.
        repeatable: Whether it may be sent again when nobody knows what became of it.
        of_tool: Whether it calls a tool over MCP, so that the answer comes in an envelope of JSON-RPC.
        lines_until: Where the answer is lines: the type that the last one has; empty: any.
    """

    method: str
    path: str
    answer: type[T]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    also: tuple[int, ...] = ()
    repeatable: bool = True
    of_tool: bool = False
    content: bytes | Iterator[bytes] | AsyncIterator[bytes] | None = None
    lines_until: tuple[str, ...] | None = None

    def __str__(self) -> str:
        """Name the request, without what is in it."""
        return f"{self.method} {self.path}"


def given(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a request holds
    """Return the fields that are not None, as they are sent.

    Raises:
        ValueError: a time has no time zone.
    """
    return {name: _sent(value) for name, value in fields.items() if value is not None}


def partly(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a request holds
    """Return the fields that are not ``...``, as they are sent: here None says something too."""
    return {name: _sent(value) for name, value in fields.items() if value is not ...}


def asked(**fields: Any) -> dict[str, str]:  # noqa: ANN401 - whatever a query holds
    """Return the fields that are not None as a query has them, as text."""
    return {name: _text(value) for name, value in given(**fields).items()}


def items(said: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one object or several as a list has them: without what is None in them."""
    return [given(**each) for each in ([said] if isinstance(said, Mapping) else said)]


def named(said: Iterable[Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
    """Return the objects as they are sent; each has an id, by which it is known if it is sent again."""
    return [{key: new_ulid(), **{name: _sent(value) for name, value in each.items()}} for each in said]


def renamed(old: str, said: T | None, new: str, value: T | None) -> T | None:
    """Return what is said under either name of a parameter, and warn of the old one.

    Raises:
        ValueError: both are said.
    """
    if said is None:
        return value
    if value is not None:
        raise ValueError(f"Say {new}=, and not {old}= too: that is its old name.")
    warnings.warn(f"{old}= has another name now: say {new}=.", DeprecationWarning, stacklevel=4)
    return said


def conditions_of(if_match: str | None, if_none_match: str | None) -> dict[str, str]:
    """Return the headers that make a change depend on what is there; none where nothing is asked."""
    return given(**{"If-Match": if_match, "If-None-Match": if_none_match})


def once(key: str | None) -> dict[str, str]:
    """Return the header that names a request, so that sent again it is not done again; without a key, a fresh one.

    Raises:
        ValueError: a header cannot hold the key.
    """
    if key is not None and not is_visible(key):
        raise ValueError("An idempotency_key is of visible ASCII characters.")
    return {"Idempotency-Key": secrets.token_hex(16) if key is None else key}


def media(media_type: str) -> dict[str, str]:
    """Return the header that says what a body is.

    Raises:
        ValueError: a header cannot hold it.
    """
    if not all(is_visible(word) for word in media_type.split(" ")):
        raise ValueError("A media_type is of visible ASCII characters.")
    return {"Content-Type": media_type}


def lines_of(lines: Lines) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Return the lines as they are sent, one by one as they come."""
    if isinstance(lines, AsyncIterable):
        return (_line(each) async for each in lines)
    return (_line(each) for each in lines)


def segment(text: str) -> str:
    """Return the text as one segment of a path; dots are written so that none is taken for a step up.

    Raises:
        ValueError: it is empty, which would be another path.
    """
    if not text:
        raise ValueError("An id must not be empty.")
    return quote(text, safe="").replace(".", "%2E")


def is_visible(text: str) -> bool:
    """Whether the text can be in a header: visible ASCII alone."""
    return all("!" <= each <= "~" for each in text)


def _sent(value: object) -> object:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("A time needs its time zone: datetime.now(UTC), not datetime.now().")
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, allow_nan=False)


def _line(line: Line | str | bytes) -> bytes:
    if isinstance(line, dict):
        line = json.dumps(line, allow_nan=False)
    written = line.encode() if isinstance(line, str) else line
    return written.rstrip(b"\r\n") + b"\n"
