"""Connections and the limit of open files."""

import asyncio
import errno
import socket
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.interfaces.server.connections import ConnectionLimits
from app.interfaces.server.open_files import AcceptFailures, connection_limits


def test_where_the_limit_can_be_raised_the_connections_are_those_of_the_settings() -> None:
    asked: list[int] = []

    def allow(count: int) -> int:
        asked.append(count)
        return count

    with capture_logs() as lines:
        assert connection_limits(800, allow) == ConnectionLimits(800, 400)
    assert asked[0] > 800 + ConnectionLimits().spare
    assert not lines


def test_files_that_it_can_do_without_are_asked_for_and_take_no_connection() -> None:
    asked: list[int] = []

    def allow(count: int) -> int:
        asked.append(count)
        return asked[0] + 10  # never the files that are asked for beside: 10 may have been opened meanwhile

    assert connection_limits(800, allow) == connection_limits(800, allow, beside=500) == ConnectionLimits(800, 400)
    assert 490 <= asked[1] - asked[0] <= 510


@pytest.mark.parametrize("allowed", [1, 64, 256, 900])
def test_where_it_cannot_be_raised_fewer_connections_are_taken_and_one_line_says_so(allowed: int) -> None:
    with capture_logs() as lines:
        limits = connection_limits(800, lambda _: allowed)
    assert 2 <= limits.connections < 800
    assert limits.spare >= 1
    assert limits.connections + limits.spare <= max(4, allowed)
    assert [(line["event"], line["max_connections"]) for line in lines] == [("few_open_files", limits.connections)]


async def test_of_connections_that_cannot_be_accepted_the_log_has_a_line_every_few_seconds() -> None:
    moments = iter(range(12 * 100))
    failures = AcceptFailures(lambda: next(moments) / 100)
    with socket.socket() as listening, capture_logs() as lines:
        context = {"message": "x", "exception": OSError(errno.EMFILE, "Too many open files"), "socket": listening}
        for _ in range(12 * 100):
            failures(asyncio.get_running_loop(), context)
    assert [line["event"] for line in lines] == ["connections_not_accepted"] * 3


@pytest.mark.parametrize("context", [{"message": "x"}, {"message": "x", "exception": ValueError("of a task")}])
async def test_other_failures_are_told_as_the_loop_does(
    context: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    AcceptFailures()(asyncio.get_running_loop(), context)
    assert len(caplog.records) == 1
