"""Starts workers: on Linux as forks of this process, which share with it what it has loaded; elsewhere anew."""

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

LISTENING = b"listening"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class WorkerProcess(Protocol):
    """A worker's process, as the process that started it sees it."""

    pid: int

    def poll(self) -> int | None:
        """Return its exit status, or the negative number of the signal that ended it; None: it has not ended."""
        ...

    def send_signal(self, sig: int, /) -> None:
        """Send it a signal; nothing happens where it has ended."""
        ...


@dataclass(frozen=True, slots=True)
class ParentConnection:
    """A worker's connection to the process that started it."""

    connection: socket.socket

    @classmethod
    def of_worker(cls) -> "ParentConnection":
        """Take the connection of this process, which is a worker: its standard input."""
        return cls(socket.socket(fileno=os.dup(sys.stdin.fileno())))

    def listens(self) -> None:
        """Say that this worker takes connections."""
        self.connection.send(LISTENING)

    def on_end(self, act: Callable[[], object]) -> None:
        """Call ``act`` when the process that started this worker has ended, in whatever way."""
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(self.connection)
            act()

        loop.add_reader(self.connection, ended)


class ForkedProcess:
    """A worker that was forked."""

    def __init__(self, pid: int) -> None:
        """Take its process id."""
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return its exit status, or the negative number of the signal that ended it; None: it has not ended."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def send_signal(self, sig: int, /) -> None:
        """Send it a signal; nothing happens where it has ended."""
        if self._code is None:
            os.kill(self.pid, sig)


def fork() -> ForkedProcess | None:
    """Return the process that was forked, and in this process None.

    The new process has a process group of its own, and signals end it until it handles them.
    """
    gc.collect()
    gc.freeze()  # a collection by a worker writes nothing to the objects that it shares
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        pid = os.fork()
        if pid:
            return ForkedProcess(pid)
        os.setpgid(0, 0)  # Ctrl-C reaches the first process alone, which signals the workers once
        signal.set_wakeup_fd(-1)
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def start_anew(
    command: Sequence[str], connection: socket.socket, sockets: Sequence[socket.socket], environment: Mapping[str, str]
) -> WorkerProcess:
    """Start a worker with a command; its standard input is ``connection``."""
    return subprocess.Popen(  # noqa: S603 - this program itself
        command,
        stdin=connection.fileno(),
        pass_fds=[each.fileno() for each in sockets],
        env=environment,
        process_group=0,
    )
