"""The periodic work of a runtime, done without pauses."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from app.runtime.backends import Backends
from app.runtime.background import Pace, periodic_works
from app.runtime.periodic import stop

_SECONDS = 0.001


@asynccontextmanager
async def periodically(backends: Backends, name: str, ready: Callable[[], bool] = lambda: True) -> AsyncIterator[None]:
    """Do the work of this name again and again until the block ends."""
    works = periodic_works(backends, Pace(), served=ready, may_work=ready, words_missing=asyncio.Event())
    (work,) = (work for work in works if work.name == name)
    often = replace(work, pause=_SECONDS, delay=_SECONDS, unready_seconds=_SECONDS)
    task = asyncio.create_task(often.run())
    try:
        yield
    finally:
        await stop([task])
