"""Runs several processes that serve one address over the same data, and starts another where one has died.

Each worker is ``memory-gateway serve`` in an interpreter of its own, and a replica like any other: what they share is
in the database (ADR 0042). This process serves nothing. It holds the sockets, so that a connection that is made while a
worker dies is taken by the next worker.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import structlog
from prometheus_client.multiprocess import mark_process_dead

from app.bootstrap import DATABASE_FILE
from app.settings import Settings

_LISTENING = b"listening"
_STOP_SECONDS = 15.0
"""Seconds that workers have to stop; requests under way have 10 s of them."""
_SHORT_LIFE_SECONDS = 10.0
"""A worker that has lived for less than this is started again only after a pause, which doubles each time."""
_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 30.0
_METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder where prometheus_client keeps the counts of the processes; it reads the variable on import."""

Spawn = Callable[[socket.socket], Awaitable[asyncio.subprocess.Process]]
"""Starts a worker whose standard input is the socket; raises ``OSError`` where the system does not let it."""
Ended = Callable[[int], object]
"""Takes the process id of a worker that has ended."""


@dataclass(frozen=True, slots=True)
class ParentConnection:
    """A worker's connection to the process that started it: its standard input."""

    connection: socket.socket

    @classmethod
    def of_worker(cls) -> "ParentConnection":
        """Take the connection of this process, which is a worker."""
        return cls(socket.socket(fileno=os.dup(sys.stdin.fileno())))

    def listens(self) -> None:
        """Say that this worker takes connections."""
        self.connection.send(_LISTENING)

    def on_end(self, act: Callable[[], object]) -> None:
        """Call ``act`` when the process that started this worker has ended, in whatever way."""
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(self.connection)
            act()

        loop.add_reader(self.connection, ended)


class Workers:
    """Keeps ``count`` workers alive until it is told to stop."""

    def __init__(
        self,
        spawn: Spawn,
        count: int,
        *,
        ended: Ended,
        listening: Callable[[], object] = lambda: None,
        pause: float = _PAUSE_SECONDS,
    ) -> None:
        """Take the function that starts a worker, and those called when a worker has ended and when the first listens.

        After a worker's short life the next one waits ``pause`` seconds, and twice as long each time that it is short
        again.
        """
        self._spawn = spawn
        self._listening = listening
        self._ended = ended
        self._count = count
        self._pause = pause
        self._running: set[asyncio.subprocess.Process] = set()
        self._stopping = asyncio.Event()
        self.listened = False
        """Whether a worker ever listened: the data is there."""

    def stop(self) -> None:
        """Have all workers finish their requests and stop."""
        self._stopping.set()
        for process in self._running:
            _signal(process, signal.SIGTERM)

    async def run(self) -> bool:
        """Run the workers until they are told to stop; return False where the first one ended before it listened.

        The first worker prepares the data alone, and the others begin when it listens: a fault that keeps one worker
        from listening keeps all. A stop in the meantime returns True.
        """
        first = asyncio.create_task(self._live(listening := asyncio.Event()))
        await _either(first, listening.wait())
        if not listening.is_set():
            return self._stopping.is_set()
        self.listened = True
        self._listening()
        keeping = [asyncio.create_task(self._keep(first)), *(self._kept() for _ in range(self._count - 1))]
        await self._stopping.wait()
        _, late = await asyncio.wait(keeping, timeout=_STOP_SECONDS)
        for process in self._running if late else ():
            structlog.get_logger().warning("worker_killed", pid=process.pid)
            _signal(process, signal.SIGKILL)
        await asyncio.gather(*keeping)
        return True

    def _kept(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._keep(asyncio.create_task(self._live(asyncio.Event()))))

    async def _keep(self, life: asyncio.Task[float]) -> None:
        """Start another worker after each that ends, until all are told to stop."""
        pause = self._pause
        while True:
            seconds = await life
            if self._stopping.is_set():
                return
            if seconds < _SHORT_LIFE_SECONDS:
                await _either(self._stopping.wait(), asyncio.sleep(pause))
                pause = min(2 * pause, _MAX_PAUSE_SECONDS)
            else:
                pause = self._pause
            life = asyncio.create_task(self._live(asyncio.Event()))

    async def _live(self, listening: asyncio.Event) -> float:
        """Run one worker to its end; return how many seconds it has lived, 0 where it could not be started."""
        loop = asyncio.get_running_loop()
        if self._stopping.is_set():
            return 0.0
        began = loop.time()
        try:
            process, ours = await self._start()
        except OSError as error:  # there is no room for another process, or file, at the moment
            structlog.get_logger().error("worker_not_started", reason=str(error))
            return 0.0
        with ours:
            self._running.add(process)
            if self._stopping.is_set():  # the stop came while this worker was being started
                _signal(process, signal.SIGTERM)
            try:
                if await loop.sock_recv(ours, len(_LISTENING)):
                    listening.set()
                code = await process.wait()
            finally:
                self._running.discard(process)
                self._ended(process.pid)
        if not self._stopping.is_set():
            structlog.get_logger().error("worker_ended", pid=process.pid, code=code)
        return loop.time() - began

    async def _start(self) -> tuple[asyncio.subprocess.Process, socket.socket]:
        """Start a worker; return its process, and this process's end of the connection."""
        ours, theirs = socket.socketpair()
        ours.settimeout(0)
        with theirs:
            try:
                return await self._spawn(theirs), ours
            except BaseException:
                ours.close()
                raise


def url_of(listening: socket.socket) -> str:
    """Return the address of a socket as a URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve_workers(
    settings: Settings, sockets: Sequence[socket.socket], tell: Callable[[str], object], *, quickstart: bool
) -> bool:
    """Serve with as many processes as the settings say, until told to stop; return what ``Workers.run`` returns.

    ``tell`` is called with the line that says where they listen.
    """
    with TemporaryDirectory(prefix="memory-gateway-") as metrics:
        announcing = quickstart  # the first worker prints what to try

        async def spawn(connection: socket.socket) -> asyncio.subprocess.Process:
            nonlocal announcing
            if workers.listened and not settings.on_cloudflare and not (settings.data_dir / DATABASE_FILE).exists():
                raise FileNotFoundError(f"{DATABASE_FILE} is missing in DATA_DIR, and nothing is made in its place.")
            command = _command(settings, sockets, quickstart=announcing)
            announcing = False
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=connection.fileno(),
                pass_fds=[each.fileno() for each in sockets],
                env={**os.environ, _METRICS_VARIABLE: metrics},
                process_group=0,  # Ctrl-C reaches this process alone, which signals the workers once
            )

        urls = " and ".join(map(url_of, sockets))
        workers = Workers(
            spawn,
            settings.workers,
            ended=lambda pid: mark_process_dead(pid, metrics),  # type: ignore[no-untyped-call]
            listening=lambda: tell(f"Listening on {urls} with {settings.workers} workers."),
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, workers.stop)
        return await workers.run()


def _command(settings: Settings, sockets: Sequence[socket.socket], *, quickstart: bool) -> list[str]:
    """Return the command of a worker: ``serve`` with its sockets, under the name that this command has."""
    program = f"import sys; from app.interfaces.cli import main; sys.argv[0] = {sys.argv[0]!r}; main()"
    listens = ",".join(str(each.fileno()) for each in sockets)
    options = ["--host", settings.host, "--port", str(settings.port), "--workers", str(settings.workers)]
    # -P: the current folder may hold modules of the same names.
    return [
        *(sys.executable, "-P", "-c", program),
        *("serve", *options, "--worker", listens, *(["--quickstart"] if quickstart else [])),
    ]


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    if process.returncode is None:
        process.send_signal(number)


async def _either(*awaitables: Awaitable[object]) -> None:
    """Return when one of the awaitables has ended; those that were not tasks before are cancelled."""
    tasks = [
        awaitable if isinstance(awaitable, asyncio.Task) else asyncio.ensure_future(awaitable)
        for awaitable in awaitables
    ]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task, given in zip(tasks, awaitables, strict=True):
        if task is not given:
            task.cancel()
