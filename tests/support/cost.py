"""What work costs, in CPU time of this process: a busy machine does not decide."""

import gc
import time
from collections.abc import Callable

_USUAL_SECONDS = 0.010
"""A machine on which the loop below takes no longer is fast enough for the limits as they are written."""


def within(seconds: float, limit: float) -> bool:
    """Tell whether a cost is within a limit, on a machine that is as fast as usual: others may share its cores now."""
    if seconds <= limit:
        return True
    taken = best(lambda: sum(number * number for number in range(150_000)))
    return seconds <= limit * taken / _USUAL_SECONDS


def best(work: Callable[[], object], tries: int = 3) -> float:
    """Return the seconds of CPU that work takes, the least of some tries."""
    gc.disable()
    try:
        return min(_once(work) for _ in range(tries))
    finally:
        gc.enable()


def _once(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
