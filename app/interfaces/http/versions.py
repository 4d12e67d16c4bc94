"""Serves every path of our own API below ``/v1`` too: the same routes, and no second form of them (ADR 0085)."""

from typing import Final

from starlette.types import Scope

PREFIX: Final = "/v1/"
"""The beginning of a path by its version."""
SEGMENTS: Final = frozenset(
    [
        *("store", "recall", "memories", "profiles", "agents", "tenant", "usage", "export", "import", "operations"),
        *("credentials", "tools", "facts", "working", "runs", "episodes", "workflows", "workflows.svg", "context"),
        *("configuration", "blobs", "audit", "undo", "consolidations", "archive", "deletions"),
    ]
)
"""The first segments of the paths that have this alias: all but Cloudflare's, and what stands at the root of a host."""


def unversioned(scope: Scope) -> Scope:
    """Return a request below ``/v1`` as the request that it is an alias of; any other path stays what it is.

    Whatever looks at the path comes after this, so that it knows one form of each path.
    """
    root: str = scope.get("root_path", "")
    path = scope["path"].removeprefix(root).removeprefix(PREFIX.rstrip("/"))
    if path.split("/")[1] not in SEGMENTS:
        return scope
    # The raw path goes: it is read of Cloudflare's paths alone.
    return {**scope, "path": f"{root}{path}", "raw_path": None}
