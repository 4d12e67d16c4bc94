"""Runs ``memory-gateway`` as forks of one process that has imported what its commands need.

A fork is a process like any other: it has its own memory, files and signals, and ends by itself. It only spares each
command the seconds that importing takes, of which a run of the tests would have a hundred times as many.

This file is also the program that a test starts where it needs a command line (``command``): it has a fork made with
its own standard streams, passes signals on, and ends as the fork does. It imports nothing but the standard library.
"""

import atexit
import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

_COMMAND_MODULES = (
    *("serving", "mcp", "migrating", "memories", "operations", "transfer"),
    *("outbox", "reconcile", "reembed", "quota", "prune"),
)
_LENGTH_BYTES = 4


class Fork:
    """One fork: what ``subprocess.Popen`` offers of a process, as far as the tests use it."""

    def __init__(
        self,
        server: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        streams: Iterable[int],
    ) -> None:
        """Have it made; ``streams`` are its standard input, output and error."""
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(str(server))
        request = json.dumps([list(arguments), dict(environment), str(folder)]).encode()
        socket.send_fds(self._connection, [len(request).to_bytes(_LENGTH_BYTES, "big")], list(streams))
        self._connection.sendall(request)
        self._answers = self._connection.makefile()
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def wait(self) -> int:
        """Wait for its end; return its exit code, or the signal that ended it, negative."""
        if self.returncode is None:
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._connection.close()
        return self.returncode

    def poll(self) -> int | None:
        """Return what ``wait`` returns if it has ended."""
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._connection, selectors.EVENT_READ)
                if selector.select(0):
                    self.wait()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@cache
def fork_server() -> Path:
    """Start the process that forks, once; return its address. It ends with this process, and its forks with it."""
    import subprocess  # noqa: PLC0415 - spared the program that every command line starts
    import tempfile  # noqa: PLC0415

    from tests.process.server import unprivileged  # noqa: PLC0415

    folder = tempfile.TemporaryDirectory(prefix="forks-")
    address = Path(folder.name) / "socket"
    process = subprocess.Popen(
        [*unprivileged(), sys.executable, "-c", "from tests.process import forks; forks.serve()", str(address)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    held_open = process.stdin
    assert held_open is not None
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        held_open.close()
        process.wait()
        folder.cleanup()

    atexit.register(end)
    return address


def command(*arguments: str) -> list[str]:
    """Return a command line that runs ``memory-gateway`` with these arguments as a fork."""
    return [sys.executable, "-I", "-S", __file__, str(fork_server()), *arguments]


def serve() -> None:
    """Fork for whoever asks, until standard input ends; a fork returns from here and runs the command."""
    from importlib import import_module  # noqa: PLC0415

    from app.interfaces.cli import main  # noqa: PLC0415

    for name in _COMMAND_MODULES:
        import_module(f"app.interfaces.cli.{name}")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(128)
    gc.collect()
    gc.freeze()
    os.write(1, b"ready\n")
    if _Server(listener).forked():
        _end_with(main)


def _end_with(main: Callable[[], object]) -> None:
    """Run a command and end as Python would, but leave the freeing of each object to the system.

    A fork shares its memory until it writes to it: freeing the modules one by one would copy them all.
    """
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - as Python does with any
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - the two steps that Python's own end begins with
    atexit._run_exitfuncs()  # noqa: SLF001
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


class _Server:
    """Makes the forks and tells of their end. In a fork, ``forked`` returns True."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._forks: dict[int, socket.socket] = {}
        self._woken, self._wakes = socket.socketpair()
        for end in (self._woken, self._wakes):
            end.settimeout(0)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def forked(self) -> bool:
        while True:
            watched: list[int | socket.socket] = [0, self._listener, self._woken, *self._forks.values()]
            with selectors.DefaultSelector() as selector:
                for each in watched:
                    selector.register(each, selectors.EVENT_READ)
                ready = [key.fileobj for key, _ in selector.select()]
            if 0 in ready:
                self._end(list(self._forks))
                return False
            self._end([pid for pid, connection in self._forks.items() if connection in ready])
            with contextlib.suppress(BlockingIOError):
                self._woken.recv(4096)
            self._tell()
            if self._listener in ready and self._fork():
                return True

    def _end(self, pids: list[int]) -> None:
        """Kill the forks whose starter has gone; they are reaped as any other."""
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def _tell(self) -> None:
        """Reap what has ended and tell how."""
        while self._forks:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._forks.pop(pid) as connection, contextlib.suppress(OSError):
                connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())

    def _fork(self) -> bool:
        connection, _ = self._listener.accept()
        length, streams, _, _ = socket.recv_fds(connection, _LENGTH_BYTES, 3)
        request = b""
        while len(request) < int.from_bytes(length, "big"):
            request += connection.recv(1 << 20)
        pid = os.fork()
        if pid == 0:
            connection.close()
            self._become(streams, *json.loads(request))
            return True
        for stream in streams:
            os.close(stream)
        self._forks[pid] = connection
        connection.sendall(f"{pid}\n".encode())
        return False

    def _become(self, streams: list[int], arguments: list[str], environment: dict[str, str], folder: str) -> None:
        """Let go of what is the server's and take over what the command shall have."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (self._listener, self._woken, self._wakes, *self._forks.values()):
            each.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[:] = ["memory-gateway", *arguments]


def _relay() -> None:
    """Have a fork made with the streams of this process, pass signals on to it, and end as it does."""
    address, *arguments = sys.argv[1:]
    fork = Fork(Path(address), arguments, os.environ, Path.cwd(), (0, 1, 2))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: os.kill(fork.pid, number))
    code = fork.wait()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    _relay()
