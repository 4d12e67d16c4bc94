"""What work costs, in CPU time of this process: a busy machine does not decide."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable

from bench.stalls import watched

_USUAL_SECONDS = 0.010
"""A machine on which either of the loops below takes no longer is fast enough for the limits as they are written."""


def within(seconds: float, limit: float) -> bool:
    """Tell whether a cost is within a limit, on a machine that is as fast as usual."""
    return seconds <= limit or usual(seconds) <= limit


def usual(seconds: float) -> float:
    """Return what work that has just cost so much costs on a usual machine: others may share this one's cores now.

    They may share its memory too, which slows down what makes many objects more than what only reckons.
    """
    taken = max(best(lambda: sum(number * number for number in range(150_000))), best(_many_objects))
    return seconds * min(1.0, _USUAL_SECONDS / taken)


def _many_objects() -> dict[str, tuple[int, list[int]]]:
    return {str(number): (number, [number]) for number in range(25_000)}


async def longest_step(work: Callable[[int], Awaitable[object]], limit: float, tries: int = 6) -> float:
    """Return the usual seconds of the longest step of the loop meanwhile: of a try within the limit, or the best try.

    What the code does takes as long each time. What the host takes meanwhile counts as CPU time too, and does not come
    back at the same step. What the tests before have left is no garbage to look through. Work is given its try's
    number.
    """
    longest = []
    for number in range(tries):
        gc.collect()
        gc.freeze()
        try:
            with watched() as stalls:
                await asyncio.sleep(0)
                await work(number)
                await asyncio.sleep(0)
        finally:
            gc.unfreeze()
        longest.append(stalls.longest if stalls.longest <= limit else usual(stalls.longest))
        if longest[-1] <= limit:
            break
    return min(longest)


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
