"""How long the event loop is held up, in CPU time of its thread: what else the machine does is not counted.

``python -m bench.stalls FILE`` serves as ``memory-gateway serve`` does, and writes each step of the loop that takes
more than ``LONG_SECONDS`` to the file, a line of JSON each. Settings come from the environment.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from app.interfaces.server import serve_http
from app.observability.logs import configure_logging
from app.settings import load_settings

LONG_SECONDS = 0.03

_Told = Callable[[float, asyncio.Handle], None]


@dataclass(slots=True)
class Stalls:
    """The longest step of the loop, in seconds."""

    longest: float = 0.0


@contextmanager
def watched() -> Iterator[Stalls]:
    """Measure each step that the loop of this thread begins, and ends, meanwhile.

    The step that enters is not measured, nor is the one that leaves: `await asyncio.sleep(0)` ends either.
    """
    stalls = Stalls()

    def told(seconds: float, _: asyncio.Handle) -> None:
        stalls.longest = max(stalls.longest, seconds)

    with _measured(told):
        yield stalls


@contextmanager
def _measured(told: _Told) -> Iterator[None]:
    """Tell of each step of the loop how long it took, and what it was."""
    run = asyncio.Handle._run  # noqa: SLF001 - the one place through which each step goes

    def measured(handle: asyncio.Handle) -> None:
        started = time.thread_time()
        run(handle)
        told(time.thread_time() - started, handle)

    with patch.object(asyncio.Handle, "_run", measured):
        yield


def _named(handle: asyncio.Handle) -> str:
    """Say whose step it was: a task's, or else what was called."""
    task = getattr(getattr(handle, "_callback", None), "__self__", None)
    if not isinstance(task, asyncio.Task):
        return repr(handle)
    stack = " < ".join(f"{frame.f_code.co_name}:{frame.f_lineno}" for frame in task.get_stack())
    return f"{task.get_coro()} {stack}"


def main() -> None:
    """Serve until told to stop."""
    settings = load_settings()
    configure_logging(settings.log_format, settings.log_level)
    with Path(sys.argv[1]).open("a", encoding="utf-8", buffering=1) as lines:

        def told(seconds: float, handle: asyncio.Handle) -> None:
            if seconds > LONG_SECONDS:
                lines.write(json.dumps({"seconds": seconds, "step": _named(handle)}) + "\n")

        with _measured(told):
            served = asyncio.run(serve_http(settings))
    sys.exit(not served)


if __name__ == "__main__":
    main()
