"""How long the event loop is held up, in CPU time of its thread: what else the machine does is not counted.

``python -m bench.stalls FILE`` serves as ``memory-gateway serve`` does, and writes each step of the loop that takes
more than ``LONG_SECONDS`` to the file, a line of JSON each. Settings come from the environment. On a virtual machine
the clock of a thread goes on while the host runs others, so what the host took meanwhile is told beside it.
"""

import asyncio
import json
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from app.interfaces.server.listener import serve_http
from app.observability.logs import configure_logging
from app.settings import load_settings

LONG_SECONDS = 0.03

_Told = Callable[[float, float, asyncio.Handle], None]
"""Takes a step's seconds of CPU, when it began (``time.perf_counter``), and what it was."""
_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK_SECONDS = 0.005


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

    def told(seconds: float, _started: float, _handle: asyncio.Handle) -> None:
        stalls.longest = max(stalls.longest, seconds)

    with _measured(told):
        yield stalls


@contextmanager
def _measured(told: _Told) -> Iterator[None]:
    """Tell of each step of the loop how long it took, and what it was."""
    run = asyncio.Handle._run  # noqa: SLF001 - the one place through which each step goes

    def measured(handle: asyncio.Handle) -> None:
        began, started = time.perf_counter(), time.thread_time()
        run(handle)
        told(time.thread_time() - started, began, handle)

    with patch.object(asyncio.Handle, "_run", measured):
        yield


class _Stolen(threading.Thread):
    """Remembers for a while how much of the processors the host has taken (steal in proc(5))."""

    def __init__(self) -> None:
        super().__init__(daemon=True, name="stolen")
        self._seen: deque[tuple[float, float]] = deque([(time.perf_counter(), _stolen_seconds())], maxlen=2000)

    def run(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            self._seen.append((time.perf_counter(), _stolen_seconds()))

    def since(self, began: float) -> float:
        """Return the seconds that were taken since a moment, of all processors together."""
        seen = list(self._seen)
        before = next((stolen for at, stolen in reversed(seen) if at <= began), seen[0][1])
        return _stolen_seconds() - before


def _stolen_seconds() -> float:
    """Return what the host has taken since it started, 0 where it does not tell."""
    try:
        return int(Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=9)[8]) / _TICKS
    except (OSError, IndexError, ValueError):
        return 0.0


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
    stolen = _Stolen()
    stolen.start()
    with Path(sys.argv[1]).open("a", encoding="utf-8", buffering=1) as lines:

        def told(seconds: float, began: float, handle: asyncio.Handle) -> None:
            if seconds > LONG_SECONDS:
                line = {"seconds": seconds, "stolen": stolen.since(began), "step": _named(handle)}
                lines.write(json.dumps(line) + "\n")

        with _measured(told):
            served = asyncio.run(serve_http(settings))
    sys.exit(not served)


if __name__ == "__main__":
    main()
