"""Reads decoded JSON into dataclasses: what is not known is left out, what is missing is an error."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

T = TypeVar("T")

_PLAIN: Mapping[Any, tuple[type, ...]] = {str: (str,), bool: (bool,), int: (int,), float: (float, int)}


def read(kind: type[T], value: object, *, at: str = "the answer") -> T:
    """Return the value as an instance of the kind.

    Raises:
        ValueError: it is not of that kind; the message says where, and does not repeat what is there.
    """
    result: T = _read(kind, value, at)
    return result


def _read(kind: Any, value: Any, at: str) -> Any:  # noqa: ANN401 - kinds are types, optional ones and tuples
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else _read(arguments[0], value, at)
    if origin is tuple and isinstance(value, list):
        return tuple(_read(arguments[0], each, f"{at}[{index}]") for index, each in enumerate(value))
    if kind is Any or ((origin or kind) is dict and isinstance(value, dict)):
        return value
    if is_dataclass(kind) and isinstance(value, dict):
        return _members(kind, value, at)
    if kind is datetime and isinstance(value, str):
        return _moment(value, at)
    if type(value) in _PLAIN.get(kind, ()) or (kind is type(None) and value is None):
        return kind(value) if kind is float else value
    raise ValueError(f"{at} is not {getattr(kind, '__name__', kind)}")


def _members(kind: Any, value: Mapping[str, object], at: str) -> Any:  # noqa: ANN401 - any dataclass
    given: dict[str, Any] = {}
    for field in fields(kind):
        required, name = field.default is MISSING, _said(field.name, value)
        if required and name not in value:
            raise ValueError(f"{at} has no {name}")
        if required or value.get(name) is not None:
            given[field.name] = _read(field.type, value[name], f"{at}.{name}")
    return kind(**given)


def _said(name: str, value: Mapping[str, object]) -> str:
    """Return the member of a field: "from" is no name in Python, and Cloudflare's names are such as sessionId."""
    first, *rest = name.rstrip("_").split("_")
    camel = first + "".join(map(str.capitalize, rest))
    return camel if camel in value else name.rstrip("_")


def _moment(value: str, at: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise ValueError(f"{at} is not a time") from error
    if moment.tzinfo is None:
        raise ValueError(f"{at} has no time zone")
    return moment
