"""Workers are kept alive, and stopped, whatever they are."""

import asyncio
import errno
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog

from app.domain.errors import ConfigurationError
from app.interfaces.server.worker_group import serve_workers
from app.interfaces.server.worker_processes import ParentConnection
from app.interfaces.server.workers import Workers
from app.settings import Settings

_LISTENS = b"listening"
_WAITS = "import signal, socket; s = socket.socket(fileno=0); s.send(b'listening')"
_UNTIL_TOLD = f"{_WAITS}; signal.sigwait([signal.SIGTERM])"
_NEVER = f"{_WAITS}; signal.pause()"


class Started:
    """Starts a program in each worker's place, and notes which have run."""

    def __init__(self, *programs: str) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ended: list[int] = []
        self.refused: list[int] = []
        """Which of all starts the system refuses, counted from 0."""
        self.tried = 0
        self._programs = list(programs)

    def start(self, number: int, parent: socket.socket) -> subprocess.Popen[bytes]:
        del number
        self.tried += 1
        if self.tried - 1 in self.refused:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        program = self._programs.pop(0) if len(self._programs) > 1 else self._programs[0]
        blocked = f"import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); {program}"
        command = (sys.executable, "-S", "-E", "-c", blocked)
        self.processes.append(subprocess.Popen(command, stdin=parent.fileno()))
        return self.processes[-1]

    def workers(self, count: int, beats: Callable[[int], int] | None = None) -> Workers:
        return Workers(
            self.start, count, ended=lambda _, pid: self.ended.append(pid), beats=beats, pause=0.0, look=0.01
        )

    async def until(self, processes: int) -> None:
        async with asyncio.timeout(20):
            while len(self.processes) < processes:
                await asyncio.sleep(0.01)


def run(workers: Workers) -> "asyncio.Task[bool | ParentConnection]":
    return asyncio.create_task(asyncio.to_thread(workers.run))


async def test_a_worker_that_ends_is_replaced_until_all_are_told_to_stop() -> None:
    started = Started(_UNTIL_TOLD)
    workers = started.workers(2)
    running = run(workers)
    await started.until(2)
    started.processes[0].kill()
    started.processes[1].kill()
    await started.until(4)
    workers.stop()
    assert await running is True
    assert all(process.returncode is not None for process in started.processes)
    assert sorted(started.ended) == sorted(process.pid for process in started.processes)


async def test_a_worker_whose_event_loop_stands_still_is_killed_and_replaced_and_no_other_is() -> None:
    started = Started(_UNTIL_TOLD)
    goes_round = iter(range(sys.maxsize))
    workers = started.workers(2, beats=lambda number: next(goes_round) if number or len(started.processes) > 2 else 0)
    running = run(workers)
    with structlog.testing.capture_logs() as logs:
        await started.until(3)
    workers.stop()
    assert await running is True
    assert [process.returncode for process in started.processes[:2]] == [-9, 0]
    assert [log["pid"] for log in logs if log["event"] == "worker_hung"] == [started.processes[0].pid]


async def test_a_worker_that_does_not_stop_in_time_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.interfaces.server.workers._STOP_SECONDS", 0.2)
    started = Started(_NEVER)
    workers = started.workers(1)
    running = run(workers)
    async with asyncio.timeout(20):
        while not workers.listened:
            await asyncio.sleep(0.01)
    with structlog.testing.capture_logs() as logs:
        workers.stop()
        assert await running is True
    assert [process.returncode for process in started.processes] == [-9]
    assert [log["event"] for log in logs] == ["worker_killed"]


async def test_where_the_first_worker_never_listens_no_other_is_started() -> None:
    started = Started("raise SystemExit(1)")
    assert await run(started.workers(4)) is False
    assert len(started.processes) == 1


async def test_a_worker_that_the_system_refuses_to_start_is_started_later() -> None:
    started = Started(_UNTIL_TOLD)
    started.refused = [1, 3]  # the second worker, and the one in the place of the first
    workers = started.workers(2)
    running = run(workers)
    with structlog.testing.capture_logs() as logs:
        await started.until(2)
        started.processes[0].kill()
        await started.until(3)
    workers.stop()
    assert await running is True
    told = [log for log in logs if log["event"] == "worker_not_started"]
    assert len(told) == 2
    assert "Resource temporarily unavailable" in told[0]["reason"]
    assert sorted(started.ended) == sorted(process.pid for process in started.processes)


async def test_where_there_is_no_room_for_the_connection_of_a_worker_it_is_started_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = Started(_UNTIL_TOLD)
    workers = started.workers(2)
    socketpair, asked = socket.socketpair, iter(range(sys.maxsize))

    def without_room_once() -> tuple[socket.socket, socket.socket]:
        if next(asked) == 1:
            raise OSError(errno.EMFILE, "Too many open files")
        return socketpair()

    monkeypatch.setattr(socket, "socketpair", without_room_once)
    running = run(workers)
    with structlog.testing.capture_logs() as logs:
        await started.until(2)
    workers.stop()
    assert await running is True
    assert [log["event"] for log in logs] == ["worker_not_started"]


async def test_where_the_first_worker_cannot_be_started_the_reason_is_told() -> None:
    started = Started(_UNTIL_TOLD)
    started.refused = [0]
    with structlog.testing.capture_logs() as logs:
        assert await run(started.workers(4)) is False
    assert started.processes == []
    (told,) = logs
    assert (told["event"], told["log_level"]) == ("worker_not_started", "error")
    assert "Resource temporarily unavailable" in told["reason"]


async def test_a_stop_before_the_first_worker_listens_is_no_failure() -> None:
    started = Started("import signal; signal.sigwait([signal.SIGTERM])")
    workers = started.workers(2)
    running = run(workers)
    await started.until(1)
    workers.stop()
    assert await running is True
    assert len(started.processes) == 1


async def test_a_worker_learns_of_the_end_of_the_process_that_started_it() -> None:
    ours, theirs = socket.socketpair()
    ended = asyncio.Event()
    parent = ParentConnection(theirs)
    parent.listens()
    assert ours.recv(100) == _LISTENS
    parent.on_end(ended.set)
    await asyncio.sleep(0.01)
    assert not ended.is_set()
    ours.close()
    async with asyncio.timeout(5):
        await ended.wait()
    theirs.close()


def test_without_a_temporary_folder_several_workers_say_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(ConfigurationError, match="TMPDIR"):
        serve_workers(Settings(workers=2, data_dir=tmp_path), [], print, quickstart=False)
