"""What work costs, in CPU time of this process: a busy machine does not decide."""

import gc
import time
from collections.abc import Callable


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
