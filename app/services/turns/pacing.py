"""Lets the event loop go on between the parts of long work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

_CHARACTERS_AT_ONCE = 64 * 1024


async def others_first() -> None:
    """Let the event loop go on with what is ready."""
    await asyncio.sleep(0)


async def paced(
    items: Iterable[T],
    size: Callable[[T], int],
    at_once: int = _CHARACTERS_AT_ONCE,
    part: Callable[[], Awaitable[None]] = others_first,
) -> AsyncIterator[T]:
    """Yield the items; after so many characters of them, as ``size`` counts, wait for ``part`` before the next."""
    characters = 0
    for item in items:
        yield item
        characters += size(item)
        if characters > at_once:
            characters = 0
            await part()
