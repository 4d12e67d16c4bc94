"""Limits a server's connections by the number of files that the system lets a process open."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog

from app.interfaces.server.accepting import NO_ROOM
from app.interfaces.server.connections import ConnectionLimits

if sys.platform != "win32":
    import resource

ACCEPTED_AT_ONCE = 16
"""Connections that are accepted in one round of the event loop: accepting a crowd holds no other request up."""
_OWN_FILES = 32
"""Files that the service opens while it serves, beside connections: of the database, blobs and calls of providers."""
_LEAST = 4
_LOG_SECONDS = 5.0

Raise = Callable[[int], int]
"""Raises the limit of open files to a number, or as far as the system allows; returns the limit that it has then."""


def connection_limits(connections: int, allow_files: Raise | None = None, *, beside: int = 0) -> ConnectionLimits:
    """Return the limits of a server with this many connections, or with as many as its limit of open files allows.

    The limit of open files is raised as far as needed and allowed, and for ``beside`` files more, which the service can
    do without. Where fewer connections fit, the log says so; up to a quarter of them are spare.
    """
    usual = ConnectionLimits(connections, connections // 2)
    others = _open_files() + _OWN_FILES + ACCEPTED_AT_ONCE
    allowed = (allow_files or _allow_files)(others + connections + usual.spare + beside)
    room = max(_LEAST, allowed - others)
    if room >= connections + usual.spare:
        return usual
    spare = min(usual.spare, room // 4)
    fitting = min(connections, room - spare)
    if fitting < connections:
        structlog.get_logger().warning(
            "few_open_files",
            limit=allowed,
            max_connections=fitting,
            cure=f"Let the process open {others + connections + usual.spare} files (ulimit -n, LimitNOFILE).",
        )
    return ConnectionLimits(fitting, max(1, fitting // 2), spare=spare)


def _open_files() -> int:
    """Return how many files this process has open; an estimate where the system does not tell."""
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        return _OWN_FILES


def _allow_files(count: int) -> int:
    if sys.platform == "win32":
        return count
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return count
    allowed = count if hard == resource.RLIM_INFINITY else min(hard, count)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (OSError, ValueError):  # macOS has a lower limit than the one that it reports
        return soft
    return allowed


class AcceptFailures:
    """Handles the event loop's reports of connections that it cannot accept for want of files; the loop then pauses.

    The loop reports each connection that waits, each second; the log has one line every few seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock that tells seconds."""
        self._clock = clock
        self._logged_at: float | None = None

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log the failure, unless one was logged just now; anything else is the loop's own matter."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in NO_ROOM and "socket" in context):
            loop.default_exception_handler(context)
            return
        now = self._clock()
        if self._logged_at is None or now - self._logged_at >= _LOG_SECONDS:
            self._logged_at = now
            structlog.get_logger().error("connections_not_accepted", reason=os.strerror(error.errno or 0))
