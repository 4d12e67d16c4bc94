"""Lets the event loop go on between the parts of long work."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

_CHARACTERS_AT_ONCE = 64 * 1024


async def paced(items: Iterable[T], size: Callable[[T], int], at_once: int = _CHARACTERS_AT_ONCE) -> AsyncIterator[T]:
    """Yield the items; after so many characters of them, as ``size`` counts, others have their turn."""
    characters = 0
    for item in items:
        yield item
        characters += size(item)
        if characters > at_once:
            characters = 0
            await asyncio.sleep(0)
