"""Sets how much freed memory the process keeps, and returns memory to the system."""

import asyncio
import ctypes

_MEGABYTE = 1024 * 1024
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_OPTIONS = {_ARENA_MAX: 1, _TRIM_THRESHOLD: 64 * _MEGABYTE, _MMAP_THRESHOLD: 32 * _MEGABYTE}
"""Options of glibc's mallopt(3) by their numbers in malloc.h; 32 MiB is the largest threshold that it takes."""


def keep_freed_memory() -> None:
    """Keep up to 64 MiB of freed memory for the next requests, in one arena for all threads.

    By default glibc returns the memory that a statement of SQLite has used to the system after each statement, and
    takes it anew for the next one. Other C libraries have no such options. Call this before threads are started.
    """
    if (set_option := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        for option, value in _OPTIONS.items():
            set_option(option, value)


async def give_memory_back(seconds: float) -> None:
    """Return freed memory to the system every ``seconds``, where the C library keeps it for itself.

    After many large requests glibc keeps tens of megabytes (malloc_trim(3)); other libraries have no such call.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(trim, 0)
