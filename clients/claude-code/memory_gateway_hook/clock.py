"""Tells how long the process is there already, before any of its code ran."""

from __future__ import annotations

import os
import time

_MAX_START_SECONDS = 0.15


def elapsed() -> float:
    """Return the seconds since the process began, where the system tells, but no more than a prompt can do without."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        seconds = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        seconds = 0.0
    return min(max(seconds, time.process_time()), _MAX_START_SECONDS)
