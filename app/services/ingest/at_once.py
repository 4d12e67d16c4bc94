"""Does a few things at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from app.services.models.model_calls import AT_ONCE

T = TypeVar("T")


async def for_each(items: Iterable[T], do: Callable[[T], Awaitable[None]]) -> None:
    """Do something with each item, as many at once as a model is called; the first error ends the others."""
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
