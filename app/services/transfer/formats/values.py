"""JSON as other systems write it: one document, or lines of JSON."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO, TypeAlias, cast

from app.domain.errors import MalformedRequest
from app.domain.json_types import Json
from app.domain.limits import MAX_NUMBER

_LONGEST_NUMBER = 20


@dataclass(frozen=True, slots=True)
class Document:
    """The whole of a file."""

    value: Json


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of several; ``value`` is None, as JSON ``null`` is, where it is not JSON.

    ``end`` is how many bytes of UTF-8 the file has up to the line's end.
    """

    number: int
    value: Json
    end: int


def values(stream: TextIO) -> Iterator[Document | SourceLine]:
    """Read a file: a document is read whole, lines are read one by one, blank ones are passed over.

    A number that SQLite cannot compare exactly becomes a text, ``NaN`` and ``Infinity`` become null.

    Raises:
        MalformedRequest: it is neither a JSON document nor begins with a line of JSON, or it is not UTF-8.
    """
    lines = _lines(stream)
    first = next(lines, None)
    if first is None:
        return
    number, end, text = first
    try:
        value = _parsed(text)
    except ValueError:
        yield Document(_document([text, *(line for _, _, line in lines)]))
        return
    second = next(lines, None)
    if second is None:
        yield Document(value)
        return
    yield SourceLine(number, value, end)
    for number, end, text in _and_then(second, lines):
        try:
            value = _parsed(text)
        except ValueError:
            value = None
        yield SourceLine(number, value, end)


_Line: TypeAlias = tuple[int, int, str]
"""A line's number, where it ends in the file, and its text."""


def _and_then(first: _Line, rest: Iterator[_Line]) -> Iterator[_Line]:
    yield first
    yield from rest


def _lines(stream: TextIO) -> Iterator[_Line]:
    end = 0
    try:
        for number, line in enumerate(stream, 1):
            end += len(line.encode("utf-8", "surrogatepass"))
            text = line.removeprefix("\ufeff") if number == 1 else line
            if text.strip():
                yield number, end, text
    except UnicodeDecodeError as error:
        raise MalformedRequest("The file is not UTF-8.") from error


def _document(lines: Iterable[str]) -> Json:
    try:
        return _parsed("".join(lines))
    except json.JSONDecodeError as error:
        detail = f"The file is neither a JSON document nor lines of JSON: look at its character {error.pos}."
        raise MalformedRequest(detail) from error
    except ValueError as error:
        raise MalformedRequest("The file is nested too deeply to be read.") from error


def _parsed(text: str) -> Json:
    try:
        return cast("Json", json.loads(text, parse_int=_whole, parse_float=_fraction, parse_constant=_constant))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _whole(digits: str) -> int | str:
    number = int(digits) if len(digits) <= _LONGEST_NUMBER else MAX_NUMBER + 1
    return number if abs(number) <= MAX_NUMBER else digits


def _fraction(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) and abs(number) <= MAX_NUMBER else digits


def _constant(_: str) -> None:
    return None
