"""How long the event loop is held up, in CPU time of its thread: what else the machine does is not counted."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch


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
    run = asyncio.Handle._run  # noqa: SLF001 - the one place through which each step goes

    def measured(handle: Any) -> None:
        started = time.thread_time()
        run(handle)
        stalls.longest = max(stalls.longest, time.thread_time() - started)

    with patch.object(asyncio.Handle, "_run", measured):
        yield stalls
