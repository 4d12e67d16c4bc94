"""The headers by which a change is made only where the resource is as the caller has seen it (RFC 9110)."""

import re
from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Header
from pydantic import BeforeValidator, WithJsonSchema

from app.domain.preconditions import Precondition

_TAG = '"3"'
_ENTITY_TAGS = r'\*|(?:W/)?"[!#-+\--~]*"(?:\s*,\s*(?:W/)?"[!#-+\--~]*")*'
ETAG: dict[str, Any] = {
    "headers": {"ETag": {"description": "The version, for If-Match.", "schema": {"type": "string"}, "example": _TAG}}
}
"""The ETag header of an answer, for the OpenAPI document."""


def _tags(value: object) -> object:
    """Refuse a value that is no list of entity tags."""
    if isinstance(value, str) and not re.fullmatch(_ENTITY_TAGS, value.strip()):
        raise ValueError('must be * or entity tags, as in "3"')
    return value


def _star(value: object) -> object:
    if isinstance(value, str) and value.strip() != "*":
        raise ValueError("must be *")
    return value


_IfMatch: TypeAlias = Annotated[
    str | None,
    BeforeValidator(_tags),
    WithJsonSchema({"type": "string", "pattern": f"^(?:{_ENTITY_TAGS})$", "examples": [_TAG]}),
    Header(description="Change it only where its ETag is one of these; `*`: where there is one."),
]
_IfNoneMatch: TypeAlias = Annotated[
    str | None,
    BeforeValidator(_star),
    WithJsonSchema({"type": "string", "enum": ["*"], "examples": ["*"]}),
    Header(description="`*`: change it only where there is none."),
]


def _precondition(if_match: _IfMatch = None, if_none_match: _IfNoneMatch = None) -> Precondition:
    """Return the precondition in the headers; a weak entity tag matches no version."""
    match = None
    if if_match is not None:
        tags = [tag.strip() for tag in if_match.split(",")]
        match = [tag.strip('"') if tag != '"*"' else "" for tag in tags if not tag.startswith("W/")]
    return Precondition(match, if_none_match is not None)


Only: TypeAlias = Annotated[Precondition, Depends(_precondition)]
"""The precondition in the headers, which a resource meets before it is changed."""


def etag(version: int) -> str:
    """Return the entity tag of a version."""
    return f'"{version}"'
