"""Accepts the connections of one of several workers, so that all of them have alike.

The system wakes every worker for a connection, and the first to come takes it: of 16 that arrive together often all.
"""

import asyncio
import errno
import socket
from collections.abc import Callable

from app.interfaces.server.worker_loads import WorkerLoad

NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""The system's errors that say that a process can open no more files now."""
_PASS_SECONDS = 0.005
"""For so long a connection is left to a worker with fewer: one that works, or hangs, does not keep it from an answer.

The event loop of a worker that recalls is held up for about as long."""
_ROOM_SECONDS = 1.0

Protocol = Callable[[], asyncio.Protocol]


class Acceptor:
    """Accepts on sockets that workers share. A connection is left for a moment where another worker has fewer."""

    def __init__(self, protocol: Protocol, load: WorkerLoad) -> None:
        """Take the function that makes a connection's protocol, and the figures of this worker."""
        self._protocol = protocol
        self._load = load
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._passed: set[socket.socket] = set()
        """The sockets with a connection that was left to others already."""
        self._opening: set[asyncio.Task[object]] = set()

    def start(self, listening: socket.socket, backlog: int) -> None:
        """Accept on a socket; ``backlog`` connections wait in the system at most."""
        listening.settimeout(0)
        listening.listen(backlog)
        self._sockets.append(listening)
        self._resume(listening)
        self._load.opened(0)

    def close(self) -> None:
        """Accept no more connections."""
        for listening in self._sockets:
            self._loop.remove_reader(listening)
        self._sockets.clear()

    def _resume(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening, self._arrived, listening)

    def _pause(self, listening: socket.socket, seconds: float) -> None:
        self._loop.remove_reader(listening)
        self._loop.call_later(seconds, self._resume, listening)

    def _arrived(self, listening: socket.socket) -> None:
        """Accept one connection: with each the workers' figures change."""
        if listening not in self._passed and self._load.exceeds_others:
            self._passed.add(listening)
            self._pause(listening, _PASS_SECONDS)
            return
        self._passed.discard(listening)
        try:
            accepted, _ = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another worker has taken it
            return
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            self._loop.call_exception_handler(
                {"message": "socket.accept() out of system resource", "exception": error, "socket": listening}
            )
            self._pause(listening, _ROOM_SECONDS)
            return
        accepted.settimeout(0)
        opening = self._loop.create_task(self._open(accepted))
        self._opening.add(opening)
        self._load.accepting(len(self._opening))

    async def _open(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol, accepted)
        finally:
            if (this := asyncio.current_task()) is not None:
                self._opening.discard(this)
            self._load.accepting(len(self._opening))
