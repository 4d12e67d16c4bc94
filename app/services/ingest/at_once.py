"""Runs a function on several items at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from app.services.models.model_calls import AT_ONCE

T = TypeVar("T")


async def for_each(items: Iterable[T], do: Callable[[T], Awaitable[None]]) -> None:
    """Call ``do`` with each item, on at most ``AT_ONCE`` items at a time; the first error cancels the other calls."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await do(item)

    workers = [asyncio.create_task(worker(), name="learning") for _ in range(AT_ONCE)]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
