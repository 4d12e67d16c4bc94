"""Routes whose parameters may hold any character, a slash too."""

from typing import Any, Final
from urllib.parse import unquote_to_bytes

from starlette.routing import Match
from starlette.types import Scope

from app.interfaces.http.dependencies import CredentialFirst

_SLASH: Final = "\ud800"
"""Stands for a slash inside a segment while a path is matched: no decoded text holds it."""


class WholeSegments(CredentialFirst):
    """A route that takes each segment of a path as it was sent, and decodes it afterwards.

    A server decodes the path first. Then a profile that is called ``a/memories`` could not be told from a path below
    the profile ``a``, and a request for one would reach the other.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the path by its segments."""
        if b"%2f" not in scope.get("raw_path", b"").lower():
            return super().matches(scope)
        match, child = super().matches({**scope, "path": "/".join(map(_decoded, scope["raw_path"].split(b"/")))})
        if match is not Match.NONE:
            child["path_params"] = {name: _with_slashes(value) for name, value in child["path_params"].items()}
        return match, child


def _decoded(segment: bytes) -> str:
    return unquote_to_bytes(segment).decode(errors="replace").replace("/", _SLASH)


def _with_slashes(value: Any) -> Any:  # noqa: ANN401 - a parameter that was converted is none of ours
    return value.replace(_SLASH, "/") if isinstance(value, str) else value
