"""Reads paths whose segments may have any character, a slash too."""

from typing import Final
from urllib.parse import unquote_to_bytes

from pydantic import BeforeValidator
from starlette.types import Scope

_SLASH: Final = "\ud800"
"""Stands for a slash inside a segment until the path is matched: no decoded text has this character."""


def whole_segments(scope: Scope) -> Scope:
    """Return a request whose path is decoded segment by segment; ``Segment`` reads the names in it.

    A server decodes the path as a whole. Then a profile that is called ``a/memories/b`` could not be told from a memory
    of the profile ``a``, and a request for the profile would reach the memory.
    """
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower():
        return scope
    return {**scope, "path": "/".join(map(_decoded, raw.split(b"/")))}


def _decoded(segment: bytes) -> str:
    return unquote_to_bytes(segment).decode(errors="replace").replace("/", _SLASH)


def _with_slashes(value: object) -> object:
    return value.replace(_SLASH, "/") if isinstance(value, str) else value


Segment = BeforeValidator(_with_slashes)
"""Gives a path parameter the slashes of the name that the caller has encoded."""
