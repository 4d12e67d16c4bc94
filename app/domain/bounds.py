"""Bounds of fields: their type, the check of values against them, and each kind of bound."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from app.domain.errors import ContentTooLarge, FieldError, InvalidRequest
from app.domain.json_types import Json, to_json

ID_FORM = r"[A-Za-z0-9._:-]{1,64}"
"""Form of a tenant or agent id: Vectorize indexes only the first 64 bytes of a string, so that a longer
id could read another tenant's memories."""

MEMORY_ID_FORM = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
"""Form of a ULID: 26 characters of Crockford's base 32."""

JSON_DEPTH = 16
"""How deep a value of any JSON may be nested."""
MAX_NUMBER = 2**63 - 1
"""The largest number that metadata may hold: SQLite compares larger integers only approximately."""

NO_NUL = r"^[^\u0000]*$"
"""Pattern of a text in a JSON schema; no schema can exclude lone surrogates too."""
_NOT_BLANK = r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Violation:
    """The reason why a value is outside a bound."""

    message: str
    too_large: bool = False
    """Whether the violation makes the request as a whole too large."""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """The values that a field may have, among those of its type."""

    violation: Callable[[Any], Violation | None]
    """Returns the violation of a value, or None where the value is within the bound."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """The keywords of JSON Schema that state the bound, as far as a schema can."""


def check(*fields: tuple[str, Bound, Any]) -> None:
    """Check values, each given with the name of its field and its bound; a value of None is a field that is left out.

    Raises:
        ContentTooLarge: the content has too many bytes.
        InvalidRequest: another field is outside its bound; every such field is named.
    """
    found = [(name, bound.violation(value)) for name, bound, value in fields if value is not None]
    violations = [(name, violation) for name, violation in found if violation is not None]
    if violations:
        raise out_of_bounds(violations)


def out_of_bounds(violations: Sequence[tuple[str, Violation]]) -> InvalidRequest:
    """Return the error that names these fields with their violations."""
    kind = ContentTooLarge if any(violation.too_large for _, violation in violations) else InvalidRequest
    detail = "; ".join(f"{name} {violation.message}" for name, violation in violations)
    return kind(f"{detail}.", errors=[FieldError(name, violation.message) for name, violation in violations])


def form(pattern: str, message: str, **lengths: int) -> Bound:
    """Bound a text to a pattern as a whole, which is looked for at the beginning alone."""
    matches = re.compile(rf"\A(?:{pattern})").fullmatch
    return Bound(lambda value: None if matches(value) else Violation(message), {"pattern": f"^{pattern}$", **lengths})


def characters(most: int) -> Bound:
    """Bound the number of a text's characters; every character that can be stored is allowed."""

    def violation(value: str) -> Violation | None:
        if (unstorable := _unstorable(value)) is not None:
            return Violation(f"must not contain {unstorable}")
        return None if 1 <= len(value) <= most else Violation(f"must be 1 to {most} characters")

    return Bound(violation, {"minLength": 1, "maxLength": most, "pattern": NO_NUL})


def number(message: str, minimum: int, maximum: int | None = None, *, exclusive: bool = False) -> Bound:
    """Bound a number; ``exclusive``: the minimum itself is outside."""

    def violation(value: float) -> Violation | None:
        above = minimum < value if exclusive else minimum <= value
        return None if above and (maximum is None or value <= maximum) else Violation(message)

    schema = {"exclusiveMinimum" if exclusive else "minimum": minimum}
    return Bound(violation, schema if maximum is None else {**schema, "maximum": maximum})


def text(max_bytes: int, *, whole_request: bool = False) -> Bound:
    """Bound a text in bytes of UTF-8; ``whole_request``: a longer one makes the whole request too large."""

    def violation(value: str) -> Violation | None:
        if (unstorable := _unstorable(value)) is not None:
            return Violation(f"must not contain {unstorable}")
        if not value.strip():
            return Violation("must not be blank")
        if (size := len(value.encode())) > max_bytes:
            return Violation(f"has {size} bytes in UTF-8, at most {max_bytes} are allowed", too_large=whole_request)
        return None

    # A body that breaks its schema is a 422. A body that is too large is a 413, whatever else is wrong with it: so the
    # bound that decides this is no part of the schema.
    longest = {} if whole_request else {"maxLength": max_bytes}
    return Bound(violation, {"minLength": 1, **longest, "pattern": _NOT_BLANK})


def any_text(max_bytes: int) -> Bound:
    """Bound a text in bytes of UTF-8 that may be empty."""

    def violation(value: str) -> Violation | None:
        if (unstorable := _unstorable(value)) is not None:
            return Violation(f"must not contain {unstorable}")
        size = len(value.encode())
        return None if size <= max_bytes else Violation(f"has {size} bytes in UTF-8, at most {max_bytes} are allowed")

    return Bound(violation, {"maxLength": max_bytes, "pattern": NO_NUL})


def json_value(max_bytes: int, depth: int = JSON_DEPTH, *, whole_request: bool = False) -> Bound:
    """Bound any JSON value in depth and in bytes; the interfaces write its schema.

    ``whole_request``: a larger value makes the request as a whole too large.
    """

    def violation(value: Json) -> Violation | None:
        if (flaw := next(_flaws([value], depth + 1, max_bytes, named=depth), None)) is not None:
            return Violation(flaw)
        size = len(to_json(value).encode())
        if size <= max_bytes:
            return None
        return Violation(f"has {size} bytes as JSON, at most {max_bytes} are allowed", too_large=whole_request)

    return Bound(violation)


def metadata(max_bytes: int, depth: int, *, filter_keys: int | None = None) -> Bound:
    """Bound metadata in depth and in bytes of JSON.

    ``filter_keys``: how many keys the metadata of a filter may have; its values must be scalars, since memories'
    metadata is compared with them. None: the metadata is of a memory.

    The interfaces write the schema, which refers to other schemas.
    """

    def violation(value: Mapping[str, Json]) -> Violation | None:
        if not value:
            return None
        if filter_keys is not None and len(value) > filter_keys:
            return Violation(f"has {len(value)} keys, at most {filter_keys} are allowed")
        if (flaw := next(_flaws(value, depth, max_bytes), None)) is not None:
            return Violation(flaw)
        if (size := len(to_json(value).encode())) > max_bytes:
            return Violation(f"has {size} bytes as JSON, at most {max_bytes} are allowed")
        if filter_keys is not None and any(isinstance(each, list | Mapping) for each in value.values()):
            return Violation("must hold texts, numbers, booleans or null to compare with")
        return None

    return Bound(violation)


_NUMBERS = frozenset((int, float))
_SCALARS = frozenset((str, bool, int, float, type(None)))
"""The types of values that hold no other values."""


def _flaws_of_scalars(values: Sequence[Json], kinds: AbstractSet[type]) -> Iterator[str]:
    """Give the flaws of the texts and numbers among values, whose types are ``kinds``."""
    if str in kinds:
        text = "".join([value for value in values if isinstance(value, str)])
        if (unstorable := _unstorable(text)) is not None:
            yield f"must not contain {unstorable} in a key or a value"
    if kinds & _NUMBERS:
        numbers = values if kinds <= _NUMBERS else [value for value in values if type(value) in _NUMBERS]
        if not _in_range(numbers):  # type: ignore[arg-type]
            yield f"must not contain a number beyond {MAX_NUMBER}"


def _flaws(within: Json, depth: int, max_bytes: int, *, named: int | None = None) -> Iterator[str]:
    """Give the flaws of a value. The walk goes no deeper than ``depth``, and ends where ``max_bytes`` are surpassed.

    It looks at each of many thousand values as seldom as possible, since other requests wait meanwhile.

    ``named``: the depth that the text of a flaw names as allowed, where that is not ``depth``.
    """
    level: list[Json] = [within]
    left = max_bytes // 2  # keys and values that fit: each takes at least a character and a comma or colon
    for _ in range(depth):
        if not level:
            return
        values = _children(level)
        left -= len(values)
        if left < 0:
            yield f"has more than {max_bytes} bytes as JSON"
            return
        kinds = set(map(type, values))
        yield from _flaws_of_scalars(values, kinds)
        level = [] if kinds <= _SCALARS else [value for value in values if type(value) not in _SCALARS]
    if level:
        yield f"must not be nested deeper than {named or depth} levels"


def _in_range(numbers: Sequence[float]) -> bool:
    """Tell whether all these numbers can be stored: a sum in which any number is NaN is NaN."""
    within = min(numbers) >= -MAX_NUMBER and max(numbers) <= MAX_NUMBER
    return within and not math.isnan(sum(numbers))


def _children(level: Sequence[Json]) -> list[Json]:
    values: list[Json] = []
    for value in level:
        if type(value) is list:
            values += value
        elif isinstance(value, Mapping):
            values += value
            values += value.values()
    return values


def _unstorable(text: str) -> str | None:
    """Name what the text contains and no text may: SQLite ends a JSON text at NUL, and UTF-8 has no lone surrogates."""
    if "\0" in text:
        return "NUL"
    if _SURROGATE.search(text):
        return "a lone surrogate"
    return None
