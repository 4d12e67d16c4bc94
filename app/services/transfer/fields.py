"""Reads the fields of a line of an import. Each function refuses what a field may not be, by a ``BadLineError``."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from app.domain.moments import milliseconds, parse_moment
from app.services.transfer.lines import BadLineError

_HASH = re.compile("[0-9a-f]{64}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


DECODER = json.JSONDecoder(parse_constant=_no_constant)
"""Reads JSON, without the constants NaN and Infinity, which JSON does not have."""


def bad(detail: str) -> NoReturn:
    """Refuse the line; ``detail`` goes on from what the line is called."""
    raise BadLineError(detail)


def check_names(value: Mapping[str, Any], known: set[str], required: Sequence[str] | set[str]) -> None:
    """Refuse fields that are not known, and the lack of one that is required."""
    if "tenant" in value and "tenant" not in known:
        bad("a memory names no tenant: it is that of the credential")
    if unknown := value.keys() - known:
        bad(f"has a field that is not known: {min(unknown)[:40]!a}")
    if missing := [name for name in sorted(required) if name not in value]:
        bad(f"lacks {' and '.join(missing)}")


def text_of(value: Mapping[str, Any], name: str) -> str:
    """Return a text."""
    found = value[name]
    if not isinstance(found, str):
        bad(f"{name} must be a text")
    return found


def object_of(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object."""
    found = value[name]
    if not isinstance(found, dict):
        bad(f"{name} must be an object")
    return found


def count_of(value: Mapping[str, Any], name: str) -> int:
    """Return a number of things: whole, and not below 0."""
    number = value.get(name)
    if type(number) is not int or number < 0:
        bad(f"{name} must be a whole number")
    return number


def digest_of(value: Mapping[str, Any]) -> str:
    """Return the SHA-256 that the line says, in hex."""
    digest = value["hash"]
    if not isinstance(digest, str) or not _HASH.fullmatch(digest):
        bad("hash must be a SHA-256 in hex")
    return digest


def moment_of(value: Mapping[str, Any], name: str) -> int | None:
    """Return a moment in milliseconds since the epoch; None: it is left out."""
    if name not in value:
        return None
    try:
        return milliseconds(parse_moment(text_of(value, name)))
    except ValueError as error:
        raise BadLineError(f"{name} {error}") from None


def texts_of(value: Mapping[str, Any], name: str, most: int) -> Sequence[str]:
    """Return a list of at most ``most`` texts."""
    texts = value[name]
    if not isinstance(texts, list) or len(texts) > most or not all(isinstance(text, str) for text in texts):
        bad(f"{name} must be a list of at most {most} texts")
    return texts
