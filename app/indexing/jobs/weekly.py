"""Does a job every Sunday at 03:00 UTC, as the line ``0 3 * * 0`` of a crontab in UTC does."""

from collections.abc import Awaitable, Callable

import structlog

from app.domain.errors import MemoryGatewayError

_HOUR_MS = 3600 * 1000
_WEEK_MS = 7 * 24 * _HOUR_MS
_SUNDAY_MS = 3 * 24 * _HOUR_MS + 3 * _HOUR_MS
"""The first Sunday at 03:00 after the epoch, which is a Thursday."""


def next_start(now: int) -> int:
    """Return the next Sunday at 03:00 UTC after ``now``, both in milliseconds since the epoch."""
    return now + _WEEK_MS - (now - _SUNDAY_MS) % _WEEK_MS


async def every_week(
    job: Callable[[], Awaitable[None]], *, clock: Callable[[], int], sleep: Callable[[float], Awaitable[None]]
) -> None:
    """Do the job each Sunday at 03:00 UTC, for ever; a job that fails is done again each hour until it succeeds.

    ``clock`` returns milliseconds since the epoch, and is read every hour at least: a machine may sleep, and its clock
    may be set.
    """
    start = next_start(clock())
    while True:
        while (left := start - clock()) > 0:
            await sleep(min(left, _HOUR_MS) / 1000)
        try:
            await job()
        except MemoryGatewayError as error:
            structlog.get_logger().warning("weekly_job_failed", code=error.code, reason=error.detail)
            start = clock() + _HOUR_MS
        else:
            start = next_start(clock())
