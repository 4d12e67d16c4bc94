"""JSON as other systems write it: one document, or lines of JSON."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TextIO, TypeAlias, cast

from app.domain.errors import MalformedRequest
from app.domain.json_types import Json
from app.domain.limits import MAX_NUMBER

_LONGEST_NUMBER = 20


@dataclass(frozen=True, slots=True)
class SourceValue:
    """The value of a whole file, or of one line of several."""

    value: Json
    """None, as for JSON ``null``, where the line is not JSON."""
    line: int | None = None
    """The line's number; None: the value is that of the whole file."""
    end: int = 0
    """How many bytes of UTF-8 the file has up to the line's end."""


def values(stream: TextIO) -> Iterator[SourceValue]:
    """Yield the values of a file: a document is read whole, lines one by one, and blank lines are passed over.

    A number that SQLite cannot compare exactly becomes a text, ``NaN`` and ``Infinity`` become null.

    Raises:
        MalformedRequest: the file is neither a JSON document nor begins with a line of JSON, or is not UTF-8.
    """
    rest = _lines(stream)
    begun = list(islice(rest, 2))
    lines = chain(begun, rest)
    if not begun:
        return
    try:
        whole = _parsed(begun[0][2])
    except ValueError:
        yield SourceValue(_document(text for _, _, text in lines))
        return
    if len(begun) == 1:
        yield SourceValue(whole)
        return
    for number, end, text in lines:
        try:
            value = _parsed(text)
        except ValueError:
            value = None
        yield SourceValue(value, number, end)


_NumberedLine: TypeAlias = tuple[int, int, str]
"""A line's number, how many bytes the file has up to its end, and its text."""


def _lines(stream: TextIO) -> Iterator[_NumberedLine]:
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
        return cast("Json", json.loads(text, parse_int=_whole, parse_float=_fraction, parse_constant=lambda _: None))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _whole(digits: str) -> int | str:
    number = int(digits) if len(digits) <= _LONGEST_NUMBER else MAX_NUMBER + 1
    return number if abs(number) <= MAX_NUMBER else digits


def _fraction(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) and abs(number) <= MAX_NUMBER else digits
