"""Serves one address with several workers: on Linux with forks of this process, elsewhere with new processes."""

import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from app.bootstrap import DATABASE_FILE, load_shared
from app.domain.errors import ConfigurationError
from app.interfaces.server.process_memory import LoadedFiles
from app.interfaces.server.worker_loads import WorkerLoad, WorkerLoads
from app.interfaces.server.worker_processes import STOP_SIGNALS, ParentConnection, WorkerProcess, fork, start_anew
from app.interfaces.server.workers import Workers
from app.observability.worker_files import add_to_ended
from app.services.turns.minute_tally import MinuteTally, SharedTally
from app.settings import Settings

_METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder where prometheus_client keeps the counts of the processes."""


def url_of(listening: socket.socket) -> str:
    """Return the address of a socket as a URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@dataclass(frozen=True, slots=True)
class Worker:
    """What a process that was forked to be a worker has of the process that started it."""

    parent: ParentConnection
    load: WorkerLoad
    counts: MinuteTally
    """What all workers count together."""
    announces: bool
    """Whether it prints what to try."""


def serve_workers(
    settings: Settings, sockets: Sequence[socket.socket], tell: Callable[[str], object], *, quickstart: bool
) -> bool | Worker:
    """Serve with as many processes as the settings say, until told to stop.

    ``tell`` is called with the line that says where they listen. Returns what ``Workers.run`` returns, and in a process
    that was forked to be a worker what it has of this one.

    Raises:
        ConfigurationError: there is no temporary folder for the figures of the workers.
    """
    forks = sys.platform == "linux"
    loads = WorkerLoads(settings.workers or 1)
    counts = SharedTally(settings.workers or 1)
    metrics = _metrics_folder()
    begun: list[int] = []
    if forks:
        load_shared(settings)
        LoadedFiles().unmap()  # this process runs little of it

    def start(number: int, connection: socket.socket) -> WorkerProcess | None:
        if workers.listened and not settings.on_cloudflare and not (settings.data_dir / DATABASE_FILE).exists():
            raise FileNotFoundError(f"{DATABASE_FILE} is missing in DATA_DIR, and nothing is made in its place.")
        begun.append(number)
        if forks:
            return fork()
        announces = quickstart and len(begun) == 1
        environment = {**os.environ, _METRICS_VARIABLE: metrics}
        return start_anew(_command(settings, sockets, quickstart=announces), connection, sockets, environment)

    def ended(number: int, pid: int) -> None:
        loads.clear(number)
        add_to_ended(pid, Path(metrics))

    urls = " and ".join(map(url_of, sockets))
    workers = Workers(
        start,
        settings.workers or 1,
        ended=ended,
        beats=loads.beats if forks else None,
        listening=lambda: tell(f"Listening on {urls} with {settings.workers} workers."),
    )
    for each in STOP_SIGNALS:
        signal.signal(each, lambda *_: workers.stop())
    with ExitStack() as at_end:
        at_end.callback(shutil.rmtree, metrics, ignore_errors=True)
        outcome = workers.run()
        if isinstance(outcome, bool):
            return outcome
        at_end.pop_all()  # the folder is the first process's
    os.environ[_METRICS_VARIABLE] = metrics
    number = begun[-1]
    announces = quickstart and len(begun) == 1
    return Worker(outcome, WorkerLoad(loads, number), MinuteTally(counts, number), announces=announces)


def _metrics_folder() -> str:
    try:
        return mkdtemp(prefix="memory-gateway-")
    except OSError as error:
        raise ConfigurationError(
            "WORKERS: several processes keep their figures in a temporary folder, and none can be made: set TMPDIR to "
            "a folder that may be written, or WORKERS to 1."
        ) from error


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
