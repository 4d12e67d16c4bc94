"""Reads rows into dataclasses: the one way from the database's answers to typed values."""

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from app.domain import json_types
from app.domain.json_types import to_json
from app.domain.memory import Memory, Scope
from app.ports.database import Row

_T = TypeVar("_T")
_Convert = Callable[[Any], Any]
_Column: TypeAlias = tuple[str, _Convert, bool]
"""A field's name, how its value is converted, and whether it may be None."""
_FROM_COLUMN: dict[type, _Convert] = {str: str, int: int, float: float, bool: bool}
_PLAIN = frozenset(_FROM_COLUMN.values())


MEMORY_COLUMNS = ", ".join(
    f"memory.{'agent_id' if field_.name == 'scope' else field_.name}" for field_ in fields(Memory) if field_.init
)
"""The columns that a statement selects for ``read_memory`` from ``long_term_memory``, which it calls ``memory``."""


def read_rows(kind: type[_T], rows: Iterable[Row]) -> list[_T]:
    """Make one object of a dataclass from each row; a field is read from the column of its name.

    A field of type ``str``, ``int``, ``float`` or ``bool`` is converted to that type, because D1 answers numbers as
    JSON does; a field of a ``Literal`` of texts is converted to a text. ``None`` stays ``None`` where the field allows
    it. A field of any other type is read from JSON text, by the type's own ``from_json`` where it has one.
    Columns without a field are ignored, and a field that has a default may have no column.

    Raises:
        TypeError: a column is NULL where its field is not optional. This is a defect of the statement.
    """
    made: list[_T] = []
    columns: list[_Column] | None = None
    for row in rows:
        columns = columns or _present(kind, row)  # the rows of one statement have the same columns
        made.append(kind(**_values(columns, row)))
    return made


def read_row(kind: type[_T], row: Row) -> _T:
    """Make an object from one row, as ``read_rows`` does."""
    return read_rows(kind, [row])[0]


def read_memory(tenant_id: str, row: Row) -> Memory:
    """Make a memory of a tenant from a row with the columns ``MEMORY_COLUMNS``."""
    return Memory(scope=Scope(tenant_id, str(row["agent_id"])), **_values(_present(Memory, row), row))


def values_of(item: _T) -> dict[str, Any]:
    """Return the fields of a dataclass as values of a statement, from which ``read_rows`` makes the same object.

    A value that is no text, number or boolean is written as JSON text.
    """
    values: dict[str, Any] = {}
    kind: type = type(item)
    for name, convert, _ in _columns(kind):
        value = getattr(item, name)
        values[name] = value if value is None or convert in _PLAIN else to_json(value)
    return values


def _values(columns: Iterable[_Column], row: Row) -> dict[str, Any]:
    """Return the fields' values by name; no function of ours is called for a column: a recall reads two thousand."""
    values = {}
    for name, convert, optional in columns:
        value = row[name]
        if value is not None:
            values[name] = convert(value)
        elif optional:
            values[name] = None
        else:
            raise TypeError(f"The column {name} is NULL, and it must have a value.")
    return values


def _present(kind: type, row: Row) -> list[_Column]:
    return [column for column in _columns(kind) if column[0] in row]


@cache
def _columns(kind: type) -> list[_Column]:
    hints = get_type_hints(kind, localns=vars(json_types))  # where the names in ``Json`` are defined
    return [_column(field.name, hints[field.name]) for field in fields(kind) if field.init]


def _column(name: str, hint: Any) -> _Column:  # noqa: ANN401 - any type of a field
    alternatives = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    wanted = [alternative for alternative in alternatives if alternative is not NoneType]
    if get_origin(wanted[0]) is Literal:
        return name, str, NoneType in alternatives
    from_json: _Convert = getattr(wanted[0], "from_json", json.loads)
    convert = _FROM_COLUMN.get(wanted[0], from_json) if len(wanted) == 1 else json.loads
    return name, convert, NoneType in alternatives
