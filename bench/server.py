"""Server processes: start them, read what they have cost, stop them."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from bench.client import CLIENTS, HOST, drive, once
from bench.data import AUTH_SECRETS

_ROOT = Path(__file__).parent.parent
COMMAND = (str(Path(sys.executable).parent / "memory-gateway"),)
"""How the command line is started."""
_UNLIMITED = {"TENANT_STORES_PER_MINUTE": "1000000000", "AGENT_STORES_PER_MINUTE": "1000000000"}
"""A load is limited by the service, not by a quota; older checkouts know no word for that."""
_ONE = {"WORKERS": "1"}
"""One process answers, where the settings say nothing else: what a request costs is the same in each."""
_POLL_SECONDS = 0.005
_START_SECONDS = 180.0
_STOP_SECONDS = 30.0
_SETTLE_SECONDS = 0.4
"""What an operation leaves to the background is done by then, and counted with it."""
WINDOWS = 4
_WINDOW_SECONDS, _RESTING = 0.5, 0.1
"""A server rests that uses less than this share of a processor in ``WINDOWS`` windows of so many seconds."""
LONGEST_WORK_SECONDS = 1800.0
"""So long a server may work in the background, unless more is allowed."""


class ServerFailed(Exception):
    """The server process ended or did not answer."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server process."""

    port: int
    process: psutil.Process
    first_answer: float
    """Seconds from the start of the process to its first answer."""

    async def cost(
        self, requests: Sequence[bytes], *, settle: float = _SETTLE_SECONDS, clients: int = CLIENTS
    ) -> float:
        """Send the requests and return the process's CPU milliseconds for each of them, all threads together.

        What they leave to the background is counted with them, for ``settle`` seconds.
        """
        before = self.cpu_seconds()
        await drive(self.port, requests, clients=clients)
        await asyncio.sleep(settle)
        return (self.cpu_seconds() - before) * 1000 / len(requests)

    async def rest(self, windows: int = WINDOWS, longest: float = LONGEST_WORK_SECONDS) -> None:
        """Wait until the server has done in the background what there was to do.

        Raises:
            ServerFailed: it still works after so many seconds.
        """
        deadline = time.monotonic() + longest
        quiet = 0
        while quiet < windows:
            if time.monotonic() > deadline:
                raise ServerFailed(f"the server still works after {longest:.0f} seconds")
            before = self.cpu_seconds()
            await asyncio.sleep(_WINDOW_SECONDS)
            quiet = quiet + 1 if self.cpu_seconds() - before < _RESTING * _WINDOW_SECONDS else 0

    def resident(self) -> float:
        """Return the resident memory of the process and those that it has begun, in MB; shared pages count in each."""
        return sum(float(process.memory_info().rss) for process in self._processes()) / 1e6

    def memory(self) -> float:
        """Return the same in MB, with each page that processes share divided among them (PSS of proc(5))."""
        return sum(float(process.memory_full_info().pss) for process in self._processes()) / 1e6

    def cpu_seconds(self) -> float:
        """Return what the process and those that it has begun have used of the processor, all threads together."""
        return sum(_cpu_seconds(process) for process in self._processes())

    def _processes(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]


def _cpu_seconds(process: psutil.Process) -> float:
    """Return what a process has used, where Linux tells it to the nanosecond: else it is counted in steps of 10 ms.

    The clock is that of ``clock_getcpuclockid``, whose id Linux makes of the process's.
    """
    try:
        return time.clock_gettime((~process.pid << 3) | 2)
    except OSError:
        times = process.cpu_times()
        return float(times.user + times.system)


@asynccontextmanager
async def embedded(
    data_dir: Path, embedder: str, first: bytes, *, without: str | None = None, **more: str
) -> AsyncIterator[Server]:
    """Run the service on the embedded default, as ``service`` does, without a reader where nothing else is said.

    A reader would read in the background what a store was filled with, for minutes.
    """
    settings = {"DATA_DIR": str(data_dir), "EMBEDDER": embedder, "AUTH_SECRETS": AUTH_SECRETS, "READER": "none", **more}
    async with service(data_dir, settings, first, without=without) as server:
        yield server


@asynccontextmanager
async def service(
    data_dir: Path,
    settings: Mapping[str, str],
    first: bytes,
    *,
    without: str | None = None,
    stalls: Path | None = None,
    checkout: Path = _ROOT,
) -> AsyncIterator[Server]:
    """Run the service as an operator would, until the block ends; ``first`` is the request it answers first.

    ``checkout`` is the one whose service runs; one other than this has a virtual environment of its own.

    ``without`` names parts of the recall to leave out, separated by commas (``bench.ablation``); ``stalls`` is a file
    that is told of the long steps of the event loop (``bench.stalls``).
    """
    port = free_port()
    own = COMMAND if checkout == _ROOT else (str(checkout / ".venv" / "bin" / "memory-gateway"),)
    command = [*own, "serve"] if without is None else [sys.executable, "-m", "bench.ablation", without]
    if stalls is not None:
        command = [sys.executable, "-m", "bench.stalls", str(stalls)]
    served = {**_UNLIMITED, **_ONE, "HOST": HOST, **settings, "PORT": str(port), "PYTHONPATH": str(checkout)}
    async with running(command, served, data_dir, port, first) as server:
        yield server


@asynccontextmanager
async def floor(first: bytes) -> AsyncIterator[Server]:
    """Run the bare application, until the block ends."""
    port = free_port()
    async with running([sys.executable, "-m", "bench.floor", str(port)], {}, _ROOT, port, first) as server:
        yield server


@asynccontextmanager
async def running(
    command: list[str], settings: Mapping[str, str], directory: Path, port: int, first: bytes
) -> AsyncIterator[Server]:
    """Run a server, as ``process`` does, from its answer to ``first`` until the block ends."""
    with tempfile.TemporaryFile() as log:
        started = time.perf_counter()
        with process(command, settings, directory, log) as running:
            try:
                await _answered(running, port, first)
                yield Server(port, psutil.Process(running.pid), time.perf_counter() - started)
            except BaseException:
                log.seek(0)
                print(log.read().decode(errors="replace")[-4000:], file=sys.stderr)
                raise


@contextmanager
def process(
    command: list[str], settings: Mapping[str, str], directory: Path, log: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process in a directory of its own, so that no ``.env`` or variable of the caller reaches it.

    The service is one process, unless the settings say how many.
    """
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = {"WORKERS": "1", **environment, **settings}
    running = subprocess.Popen(command, cwd=directory, env=environment, stdout=log, stderr=log)
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


async def _answered(process: subprocess.Popen[bytes], port: int, first: bytes) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            await once(port, first)
        except ConnectionRefusedError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(f"{process.args!r} does not answer") from error
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port
