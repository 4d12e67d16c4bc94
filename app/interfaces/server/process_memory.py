"""Sets how much freed memory the process keeps, and returns memory to the system."""

import asyncio
import ctypes
import mmap
import re
from collections.abc import Iterator
from pathlib import Path

_MEGABYTE = 1024 * 1024
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_OPTIONS = {_ARENA_MAX: 1, _TRIM_THRESHOLD: 64 * _MEGABYTE, _MMAP_THRESHOLD: 32 * _MEGABYTE}
"""Options of glibc's mallopt(3) by their numbers in malloc.h; 32 MiB is the largest threshold that it takes."""
_MAPPINGS, _PAGES = Path("/proc/self/maps"), Path("/proc/self/smaps")
"""What is mapped in this process, and the same with its pages, which takes some milliseconds more."""
_READ_ONLY = re.compile(
    r"([0-9a-f]{1,16})-([0-9a-f]{1,16}) r-[-x][ps] [0-9a-f]{1,16} [0-9a-f:]{1,20} [0-9]{1,20} {1,99}/"
)
"""The line about a mapping of a file to which this process cannot write."""
_OWN_PAGES = re.compile(r"(?:Anonymous|Swap): +[1-9]")
"""A line that tells of pages of a mapping that are not, or no longer, those of its file."""
_LAST = "VmFlags:"


def keep_freed_memory() -> None:
    """Keep up to 64 MiB of freed memory for the next requests, in one arena for all threads.

    By default glibc returns the memory that a statement of SQLite has used to the system after each statement, and
    takes it anew for the next one. Other C libraries have no such options. Call this before threads are started.
    """
    if (set_option := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        for option, value in _OPTIONS.items():
            set_option(option, value)


class LoadedFiles:
    """The files from which this process has loaded code and tables, where they are mapped to be read alone."""

    def __init__(self) -> None:
        """Note which those are; only Linux tells. No other thread may load a library meanwhile.

        The part of a library that will be its data looks like code at first.
        """
        lines = _MAPPINGS.read_text().splitlines() if _MAPPINGS.exists() else []
        self._noted = frozenset(filter(_READ_ONLY.match, lines))

    def unmap(self) -> None:
        """Take their pages out of this process: much is needed only once, such as the code that compiles a model.

        They stay in the page cache of the system, which may use their memory for something else. What is read again is
        mapped again, from the disk only where it is cached no longer.
        """
        for begin, end in self._unchanged() if self._noted else ():
            ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_DONTNEED)

    def _unchanged(self) -> Iterator[tuple[int, int]]:
        """Give where mappings begin and end that still hold what is in their files: relocated data would be lost."""
        found = None
        for line in _PAGES.read_text().splitlines():
            if line in self._noted:
                found = _READ_ONLY.match(line)
            elif _OWN_PAGES.match(line):
                found = None
            elif line.startswith(_LAST) and found is not None:
                yield int(found[1], 16), int(found[2], 16)
                found = None


async def give_memory_back(loaded: LoadedFiles, seconds: float) -> None:
    """Return to the system what the start has needed, and then every ``seconds`` freed memory.

    Pages of files are returned once: what is read after the start is what a server needs. After many large requests
    glibc keeps tens of megabytes (malloc_trim(3)); other libraries have no such call.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)
    await asyncio.to_thread(loaded.unmap)
    while True:
        await asyncio.to_thread(trim, 0)
        await asyncio.sleep(seconds)
