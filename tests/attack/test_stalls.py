"""What the watch sees of a loop that is held up."""

import asyncio
import time

from bench.stalls import watched


def busy(seconds: float) -> None:
    started = time.thread_time()
    while time.thread_time() - started < seconds:
        pass


async def test_a_step_that_holds_the_loop_up_is_seen() -> None:
    with watched() as stalls:
        await asyncio.sleep(0)
        busy(0.06)
        await asyncio.sleep(0)
    assert stalls.longest >= 0.06


async def test_what_runs_before_and_after_is_not_counted() -> None:
    busy(0.06)
    with watched() as stalls:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    busy(0.06)
    assert stalls.longest < 0.06


async def test_work_of_another_thread_is_not_counted() -> None:
    with watched() as stalls:
        await asyncio.to_thread(busy, 0.06)
        await asyncio.sleep(0)
    assert stalls.longest < 0.06
