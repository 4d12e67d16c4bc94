"""Reads rows into dataclasses: one way from what the database answers to typed values."""

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from app.domain import json_types
from app.domain.memory import Memory, Scope
from app.ports.database import Row

_T = TypeVar("_T")
_Convert = Callable[[Any], Any]
_FROM_COLUMN: dict[type, _Convert] = {str: str, int: int, float: float, bool: bool}


def read_rows(kind: type[_T], rows: Iterable[Row]) -> list[_T]:
    """Make one object of a dataclass from each row; a field is read from the column of its name.

    A field of type ``str``, ``int``, ``float`` or ``bool`` is converted to that type, because D1 answers numbers as
    JSON does. ``None`` stays ``None`` where the field allows it. A field of any other type is read from JSON text, by
    the type's own ``from_json`` where it has one.
    Columns without a field are ignored, and a field that has a default may have no column.

    Raises:
        TypeError: a column is NULL where its field is not optional. This is a defect of the statement.
    """
    columns = _columns(kind)  # type: ignore[arg-type]  # a class is hashable
    return [kind(**{name: convert(row[name]) for name, convert in columns if name in row}) for row in rows]


def read_row(kind: type[_T], row: Row) -> _T:
    """Make an object from one row, as ``read_rows`` does."""
    return read_rows(kind, [row])[0]


def read_memory(tenant_id: str, row: Row) -> Memory:
    """Make a memory of a tenant from a row with the columns ``agent_id`` and those of the memory's other fields."""
    values = {name: convert(row[name]) for name, convert in _columns(Memory) if name in row}
    return Memory(scope=Scope(tenant_id, str(row["agent_id"])), **values)


@cache
def _columns(kind: type) -> list[tuple[str, _Convert]]:
    hints = get_type_hints(kind, localns=vars(json_types))  # where the names in ``Json`` are defined
    return [(field.name, _converter(hints[field.name])) for field in fields(kind) if field.init]


def _converter(hint: Any) -> _Convert:  # noqa: ANN401 - any type of a field
    alternatives = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    wanted = [each for each in alternatives if each is not NoneType]
    from_json: _Convert = getattr(wanted[0], "from_json", json.loads)
    convert = _FROM_COLUMN.get(wanted[0], from_json) if len(wanted) == 1 else json.loads
    return _optional(convert) if NoneType in alternatives else _required(convert)


def _optional(convert: _Convert) -> _Convert:
    return lambda value: None if value is None else convert(value)


def _required(convert: _Convert) -> _Convert:
    def converted(value: Any) -> Any:  # noqa: ANN401 - any value of a column
        if value is None:
            raise TypeError("A column is NULL that must have a value.")
        return convert(value)

    return converted
