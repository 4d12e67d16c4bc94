"""Says why a setting cannot be used, in the words of an operator."""

from collections.abc import Mapping
from typing import Any

_SAYS: Mapping[str, str] = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float", "int_parsing_size"), "must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "literal_error": "must be {expected}",
}
"""The sentences by pydantic's names of errors; the values in braces are those of the error's context."""


def problem(kind: str, context: Mapping[str, Any], message: str) -> str:
    """Return the reason why a setting cannot be used; for an error without a sentence here, pydantic's ``message``."""
    said = _SAYS.get(kind)
    return message.removeprefix("Value error, ") if said is None else said.format(**context)
