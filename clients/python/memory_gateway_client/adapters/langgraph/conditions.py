"""The filter of a search, as LangGraph's own stores read it."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {"$eq": operator.eq, "$ne": operator.ne}
_AS_NUMBERS: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def passes(value: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether each key of the filter has what it asks for; a key that is missing has None.

    Raises:
        TypeError, ValueError: a comparison of numbers meets what is none, or there is no such operator.
    """
    return all(_matches(value.get(key), wanted) for key, wanted in where.items())


def _matches(held: Any, wanted: Any) -> bool:  # noqa: ANN401 - whatever a value and a filter hold
    if isinstance(wanted, dict):
        if any(key.startswith("$") for key in wanted):
            return all(_compares(held, name, operand) for name, operand in wanted.items())
        return isinstance(held, dict) and passes(held, wanted)
    if isinstance(wanted, list | tuple):
        return isinstance(held, list) and len(held) == len(wanted) and all(map(_matches, held, wanted))
    return bool(held == wanted)


def _compares(held: Any, name: str, operand: Any) -> bool:  # noqa: ANN401 - whatever a value holds
    if name in _COMPARED:
        return bool(_COMPARED[name](held, operand))
    if name in _AS_NUMBERS:
        return _AS_NUMBERS[name](float(held), float(operand))
    raise ValueError(f"A filter has no operator {name!r}: there are {', '.join([*_COMPARED, *_AS_NUMBERS])}.")
