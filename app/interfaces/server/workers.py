"""Runs several processes that serve one address over the same data, and starts another where one has died.

Each worker is a replica like any other: what they share is in the database (ADR 0042). On Linux a worker is a fork of
this process, whose imports it shares (ADR 0094). This process serves nothing. It holds the sockets, so that a
connection that is made while a worker dies is taken by the next worker.
"""

import math
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import structlog

from app.interfaces.server.worker_processes import LISTENING, ParentConnection, WorkerProcess

_STOP_SECONDS = 15.0
"""Seconds that workers have to stop; requests under way have 10 s of them."""
_SHORT_LIFE_SECONDS = 10.0
"""A worker that has lived for less than this is started again only after a pause, which doubles each time."""
_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 30.0
_LOOK_SECONDS = 1.0
"""The longest pause between two looks at the workers."""
_LEAVING_SECONDS = 0.02
"""The pause between two looks at a worker that is about to end."""
_SAID_WHY = 1
"""The exit status of a worker that has said what keeps it from serving."""
_HUNG_LOOKS = 60
"""A worker is killed whose event loop has not gone round for so many looks: a minute in which this process ran."""

Start = Callable[[int, socket.socket], WorkerProcess | None]
"""Starts the worker of a number, from 0, with its connection to this process; returns None in the new process.

It raises ``OSError`` where the system does not let it.
"""
Ended = Callable[[int, int], object]
"""Takes the number and the process id of a worker that has ended."""
Beats = Callable[[int], int]
"""Returns how often the event loop of the worker of a number has gone round."""


@dataclass(slots=True)
class _WorkerPlace:
    """A worker, and the one that comes after it."""

    number: int
    pause: float
    process: WorkerProcess | None = None
    connection: socket.socket | None = None
    began: float = 0.0
    due: float = 0.0
    """When the next worker is started."""
    listens: bool = False
    beats: int = 0
    quiet: int = 0
    """For how many looks the worker's event loop has not gone round."""

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Workers:
    """Keeps ``count`` workers alive until it is told to stop."""

    def __init__(
        self,
        start: Start,
        count: int,
        *,
        ended: Ended,
        beats: Beats | None = None,
        listening: Callable[[], object] = lambda: None,
        pause: float = _PAUSE_SECONDS,
        look: float = _LOOK_SECONDS,
    ) -> None:
        """Take the function that starts a worker, and those called when a worker has ended and when the first listens.

        After a worker's short life the next one waits ``pause`` seconds, and twice as long each time that it is short
        again. ``beats`` tells of each worker whether it hangs; without it none is taken to hang.
        This process looks at the workers every ``look`` seconds.
        """
        self._start = start
        self._listening = listening
        self._ended = ended
        self._beats = beats
        self._pause = pause
        self._look_seconds = look
        self._places = [_WorkerPlace(number, pause) for number in range(count)]
        self._woken, self._bell = socket.socketpair()
        self._bell.settimeout(0)
        self._stop_by: float | None = None
        """When the workers that still run are killed; None: nobody has told them to stop."""
        self._stopping = False
        """Whether the workers were told to stop."""
        self.listened = False
        """Whether a worker ever listened: the data is there."""

    def stop(self) -> None:
        """Have all workers finish their requests and stop. It may be called by a signal, and from any thread."""
        if self._stop_by is None:
            self._stop_by = time.monotonic() + _STOP_SECONDS
            with suppress(OSError):  # they have ended
                self._bell.send(b"!")

    def run(self) -> bool | ParentConnection:
        """Run the workers until they are told to stop; return False where the first one ended before it listened.

        The first worker prepares the data alone, and the others begin when it listens: a fault that keeps one worker
        from listening keeps all. A stop in the meantime returns True. In a process that was forked to be a worker its
        connection to this process is returned.
        """
        with self._woken, self._bell:
            return self._run()

    def _run(self) -> bool | ParentConnection:
        looked = time.monotonic()
        while True:
            for place in self._due():
                if (worker := self._begin(place)) is not None:
                    return worker
            running = [place for place in self._places if place.process is not None]
            if not running and (self._stop_by is not None or not self.listened):
                return self._stop_by is not None
            self._say_stop(running)
            self._wait(running)
            for place in running:
                self._look(place)
            if time.monotonic() - looked >= self._look_seconds:
                looked = time.monotonic()
                for place in running:
                    self._look_for_beat(place)
            self._kill_late()

    def _due(self) -> Iterator[_WorkerPlace]:
        """Give the places whose next worker is to be started now."""
        for place in self._places if self.listened else self._places[:1]:
            if place.process is None and place.due <= time.monotonic() and self._stop_by is None:
                yield place

    def _begin(self, place: _WorkerPlace) -> ParentConnection | None:
        """Start a worker; return its connection to this process in the new process, and here None."""
        with ExitStack() as unless_started:
            try:
                ours, theirs = map(unless_started.enter_context, socket.socketpair())
                process = self._start(place.number, theirs)
            except OSError as error:  # there is no room for another process, or file, at the moment
                structlog.get_logger().error("worker_not_started", reason=str(error))
                self._rest(place, 0.0)
                return None
            unless_started.pop_all()
        if process is None:
            ours.close()
            for each in self._places:
                each.close()
            return ParentConnection(theirs)
        theirs.close()
        place.process, place.connection = process, ours
        place.began, place.listens, place.quiet = time.monotonic(), False, 0
        return None

    def _rest(self, place: _WorkerPlace, seconds: float) -> None:
        """Set when the next worker is started, after one that has lived for this many seconds."""
        short = seconds < _SHORT_LIFE_SECONDS
        place.due = time.monotonic() + (place.pause if short else 0.0) if self.listened else math.inf
        place.pause = min(2 * place.pause, _MAX_PAUSE_SECONDS) if short else self._pause

    def _wait(self, running: Sequence[_WorkerPlace]) -> None:
        """Return when a worker tells something, or a signal comes, or a moment has come at which to look."""
        waiting = select.poll()
        waiting.register(self._woken, select.POLLIN)
        seconds = self._look_seconds
        for place in running:
            if place.connection is None:
                seconds = min(seconds, _LEAVING_SECONDS)
            else:
                waiting.register(place.connection, select.POLLIN)
        now = time.monotonic()
        moments = [place.due for place in self._places if place.process is None and self.listened]
        moments += [] if self._stop_by is None else [self._stop_by]
        seconds = min([seconds, *(max(0.0, moment - now) for moment in moments)])
        ready = [fileno for fileno, _ in waiting.poll(math.ceil(seconds * 1000))]
        if self._woken.fileno() in ready:
            self._woken.recv(1)

    def _look(self, place: _WorkerPlace) -> None:
        """Take what a worker has told, and its end."""
        if place.connection is not None and (told := _told(place.connection)) is not None:
            if told:
                place.listens = True
                self._first_listens()
            else:
                place.close()
        process = place.process
        if place.connection is not None or process is None or (code := process.poll()) is None:
            return
        place.process = None
        self._ended(place.number, process.pid)
        if self._stop_by is None and (self.listened or code != _SAID_WHY):
            structlog.get_logger().error("worker_ended", pid=process.pid, code=code)
        self._rest(place, time.monotonic() - place.began)

    def _first_listens(self) -> None:
        if not self.listened:
            self.listened = True
            self._listening()

    def _look_for_beat(self, place: _WorkerPlace) -> None:
        """Kill a worker that hangs; one that does not listen yet may take its time."""
        if self._beats is None or place.process is None or not place.listens:
            return
        beats = self._beats(place.number)
        place.quiet = 0 if beats != place.beats else place.quiet + 1
        place.beats = beats
        if place.quiet >= _HUNG_LOOKS:
            place.quiet = 0
            structlog.get_logger().error("worker_hung", pid=place.process.pid)
            place.process.send_signal(signal.SIGKILL)

    def _say_stop(self, running: Sequence[_WorkerPlace]) -> None:
        """Tell the workers to stop, once, where this process was told to."""
        if self._stop_by is None or self._stopping:
            return
        self._stopping = True
        for place in running:
            if place.process is not None:
                place.process.send_signal(signal.SIGTERM)

    def _kill_late(self) -> None:
        """Kill the workers that have not stopped in time."""
        if self._stop_by is None or time.monotonic() < self._stop_by:
            return
        for place in self._places:
            if place.process is not None:
                structlog.get_logger().warning("worker_killed", pid=place.process.pid)
                place.process.send_signal(signal.SIGKILL)
        self._stop_by = math.inf


def _told(connection: socket.socket) -> bytes | None:
    """Return what a worker has told; None: nothing yet; nothing any more where it has ended."""
    try:
        return connection.recv(len(LISTENING), socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:
        return b""
