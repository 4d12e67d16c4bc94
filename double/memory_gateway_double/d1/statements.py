"""Reads SQL as D1 does before running it: where statements end, which parameters they take, what is refused."""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from memory_gateway_double.v4 import refused
from memory_gateway_double.wire import Refusal

Value: TypeAlias = float | str | bytes | None

SQL_ERROR = 7500
MALFORMED = 7400

_SQL_BYTES = 100_000
_VALUE_BYTES = 2_000_000
_PARAMETERS = 100
_BYTE = 255

_TOKEN = re.compile(
    r"""(?P<quoted>'[^']*(?:''[^']*)*'|"[^"]*(?:""[^"]*)*"|`[^`]*`|\[[^\]]*\])
    |(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    |\?(?P<number>\d*)
    |(?<![\w$])(?P<named>[:@$][A-Za-z_]\w*)
    |(?P<end>;)""",
    re.DOTALL | re.VERBOSE,
)
_NOTHING = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)|;)*", re.DOTALL)
_REFUSED = re.compile(
    r"(?:BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE|ATTACH|DETACH|VACUUM)\b"
    r"|CREATE\s+TEMP(?:ORARY)?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """One statement, and how many parameters it takes; they have numbers unless ``anonymous``."""

    sql: str
    parameters: int
    anonymous: bool


@dataclass(frozen=True, slots=True)
class Bound:
    """A statement and the values of its parameters: a list for ``?``; for ``?1`` by number, as sqlite3 takes them."""

    sql: str
    values: list[Value] | dict[str, Value]


def sql_error(message: str, status: int = 400) -> Refusal:
    """Refuse as D1 does when SQL fails."""
    return refused(status, SQL_ERROR, message)


def parse(sql: str) -> tuple[Parsed, ...]:
    """Split into statements and number their parameters.

    Raises:
        Refusal: a statement is too long, or is one that D1 does not allow.
    """
    return tuple(_numbered(piece) for piece in _split(sql))


def bind(statement: Parsed, params: object) -> Bound:
    """Give the parameters their values: JSON numbers and booleans as REAL, a list of byte values as BLOB.

    Raises:
        Refusal: there are too many or too few, or one cannot be bound.
    """
    if not isinstance(params, list):
        raise refused(400, MALFORMED, "Invalid property: params => Expected array")
    if len(params) > _PARAMETERS:
        raise sql_error(f"too many SQL variables at offset {len(statement.sql)}: SQLITE_ERROR")
    if len(params) != statement.parameters:
        raise sql_error("Wrong number of parameter bindings for SQL query.")
    values = [_value(param) for param in params]
    if statement.anonymous:
        return Bound(statement.sql, values)
    return Bound(statement.sql, {str(number): value for number, value in enumerate(values, 1)})


def _split(sql: str) -> Iterator[str]:
    start = 0
    for token in _TOKEN.finditer(sql):
        if token["end"] and sqlite3.complete_statement(sql[start : token.end()]):
            if not _is_nothing(sql[start : token.end()]):
                yield sql[start : token.start()]
            start = token.end()
    if not _is_nothing(sql[start:]):
        yield sql[start:]


def _is_nothing(piece: str) -> bool:
    match = _NOTHING.match(piece)
    return match is not None and match.end() == len(piece)


def _numbered(sql: str) -> Parsed:
    if len(sql.encode()) > _SQL_BYTES:
        raise sql_error("statement too long: SQLITE_TOOBIG")
    blank = _NOTHING.match(sql)
    if _REFUSED.match(sql, blank.end() if blank else 0):
        raise sql_error("not authorized: SQLITE_AUTH")
    placeholders = [token for token in _TOKEN.finditer(sql) if token["number"] is not None or token["named"]]
    parts: list[str] = []
    names: dict[str, int] = {}
    end = highest = 0
    for token in placeholders:
        number = _place(token, names, highest)
        if number > _PARAMETERS:
            raise sql_error(_too_many(token))
        highest = max(highest, number)
        parts += [sql[end : token.start()], f"?{number}"]
        end = token.end()
    if all(token["number"] == "" for token in placeholders):  # unchanged, as columns are named after them
        return Parsed(sql, highest, anonymous=True)
    return Parsed("".join([*parts, sql[end:]]), highest, anonymous=False)


def _place(token: re.Match[str], names: dict[str, int], highest: int) -> int:
    """Number a parameter as SQLite does: by its own number, by its name, or as one more than the highest."""
    if token["number"]:
        return int(token["number"])
    if token["named"]:
        return names.setdefault(token["named"], highest + 1)
    return highest + 1


def _too_many(token: re.Match[str]) -> str:
    if token["number"]:
        return f"variable number must be between ?1 and ?{_PARAMETERS} at offset {token.start()}: SQLITE_ERROR"
    return f"too many SQL variables at offset {token.start()}: SQLITE_ERROR"


def _value(param: object) -> Value:
    if param is None:
        return None
    if isinstance(param, str):
        if len(param.encode()) > _VALUE_BYTES:
            raise sql_error("string or blob too big: SQLITE_TOOBIG")
        return param
    if isinstance(param, bool | int | float):
        return float(param)
    if isinstance(param, list) and all(type(byte) is int and 0 <= byte <= _BYTE for byte in param):
        if len(param) > _VALUE_BYTES:
            raise sql_error("string or blob too big: SQLITE_TOOBIG")
        return bytes(param)
    raise refused(400, MALFORMED, "Invalid property: params => Type 'object' not supported for a parameter")
