"""A weekly job runs on Sundays at 03:00 UTC, whatever the clock does."""

from pathlib import Path

import pytest

from app.domain.errors import Unavailable
from app.domain.moments import format_moment, milliseconds, parse_moment
from app.indexing.jobs.weekly import every_week, next_start


def at(text: str) -> int:
    return milliseconds(parse_moment(text))


class Clock:
    """A clock that sleeping moves, and that stops the test when its time is over."""

    def __init__(self, now: str, until: str) -> None:
        self.now, self.until = at(now), at(until)
        self.slept: list[float] = []

    def __call__(self) -> int:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += int(seconds * 1000)
        if self.now > self.until:
            raise TimeoutError


async def started(clock: Clock, failing: int = 0) -> list[str]:
    """Return when the job was begun; it fails so often at first."""
    moments: list[str] = []

    async def job() -> None:
        moments.append(format_moment(clock.now))
        if len(moments) <= failing:
            raise Unavailable("The database is away.")

    with pytest.raises(TimeoutError):
        await every_week(job, clock=clock, sleep=clock.sleep)
    return moments


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-11-28T12:00:00Z", "2026-11-29T03:00:00Z"),
        ("2026-11-29T02:59:59.999Z", "2026-11-29T03:00:00Z"),
        ("2026-11-29T03:00:00Z", "2026-12-06T03:00:00Z"),
        ("2026-12-31T23:00:00+02:00", "2027-01-03T03:00:00Z"),
    ],
)
def test_the_next_start_is_the_next_sunday_at_three(now: str, expected: str) -> None:
    assert next_start(at(now)) == at(expected)


async def test_the_job_runs_once_each_sunday_at_three_and_not_at_the_start() -> None:
    clock = Clock("2026-11-23T10:00:00Z", "2026-12-13T04:00:00Z")
    assert await started(clock) == [f"{day}T03:00:00.000Z" for day in ("2026-11-29", "2026-12-06", "2026-12-13")]
    assert max(clock.slept) <= 3600


async def test_a_job_that_fails_runs_again_every_hour_until_it_is_done() -> None:
    clock = Clock("2026-11-28T10:00:00Z", "2026-12-01T00:00:00Z")
    assert await started(clock, failing=2) == [f"2026-11-29T{hour}:00:00.000Z" for hour in ("03", "04", "05")]


async def test_a_clock_that_jumps_over_the_moment_starts_the_job_at_once() -> None:
    clock = Clock("2026-11-28T10:00:00Z", "2026-12-01T00:00:00Z")
    sleep = clock.sleep

    async def suspended(seconds: float) -> None:
        await sleep(seconds)
        if len(clock.slept) == 1:
            clock.now = at("2026-11-29T09:30:00Z")

    clock.sleep = suspended  # type: ignore[method-assign]
    assert await started(clock) == ["2026-11-29T09:30:00.000Z"]


@pytest.mark.parametrize("file", ["compose.yaml", "deploy/README.md", "docs/operations.md", "docs/tiers.md"])
def test_the_moment_is_told_alike_wherever_it_is_set(file: str) -> None:
    assert "0 3 * * 0" in (Path(__file__).parents[2] / file).read_text("utf-8")
