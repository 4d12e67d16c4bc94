"""Makes an object of one type from an object of another type that shares fields with it."""

from dataclasses import fields
from typing import Any, TypeVar

_T = TypeVar("_T")


def from_attributes(kind: type[_T], source: object, **given: Any) -> _T:  # noqa: ANN401 - any type of a field
    """Return an object of a dataclass: a field that is not ``given`` gets the source's attribute of the same name.

    A field that the source lacks keeps its default. The call raises what the dataclass raises when it is made, and
    ``TypeError`` where a field without a default has no value.
    """
    names = [field.name for field in fields(kind) if field.init and field.name not in given]  # type: ignore[arg-type]
    return kind(**{name: getattr(source, name) for name in names if hasattr(source, name)}, **given)
