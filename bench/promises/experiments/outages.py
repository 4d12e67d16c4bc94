"""What a service does while, and after, a part of it or of its machine is away."""

import asyncio
import resource
import shlex
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import httpx

from bench.client import HOST, drive
from bench.data import AUTH_SECRETS, Requests, one_agent
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement
from bench.server import ServerFailed, free_port, process
from bench.upstream import account

_LOCAL = {"EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS}
_FILES, _CROWD, _CROWD_SECONDS = 64, 200, 5.0
_OUTAGE_SECONDS = 8.0
_CAP_SECONDS = 45.0
_START_SECONDS = 30.0
_FULL_SECONDS = 5.0


async def measure(checkout: Checkout) -> list[Measurement]:
    """Measure each outage on a service of its own."""
    return [
        await _ready_again(checkout),
        await _ready_on_a_full_disk(checkout),
        await _started_on_an_empty_file(checkout),
        await _log_of_a_crowd(checkout),
    ]


@asynccontextmanager
async def _served(command: list[str], settings: Mapping[str, str], folder: Path, log: IO[bytes]) -> AsyncIterator[int]:
    """Run a service until the block ends; give its port once it answers."""
    port = free_port()
    with process(command, {**settings, "HOST": HOST, "PORT": str(port)}, folder, log):
        try:
            await _until_it_answers(port)
        except ServerFailed:
            log.seek(0)
            print(log.read().decode(errors="replace")[-2000:], file=sys.stderr)
            raise
        yield port


async def _until_it_answers(port: int) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(600):
            try:
                await client.get(f"http://{HOST}:{port}/healthz")
            except httpx.TransportError:
                await asyncio.sleep(0.05)
            else:
                return
    raise ServerFailed("The service does not answer.")


async def _until_ready(port: int, status: int, cap: float = _CAP_SECONDS) -> float:
    """Ask for readiness four times a second until it has this status; return the seconds, at most the cap."""
    started = time.perf_counter()
    async with httpx.AsyncClient(trust_env=False, timeout=15) as client:
        while time.perf_counter() - started < cap:
            if (await client.get(f"http://{HOST}:{port}/readyz")).status_code == status:
                break
            await asyncio.sleep(0.25)
    return min(cap, time.perf_counter() - started)


async def _ready_again(checkout: Checkout) -> Measurement:
    """Let D1 fail for some seconds while readiness is asked for, and wait for 200 after that."""
    with TemporaryDirectory(prefix="outage-") as directory, tempfile.TemporaryFile() as log:
        folder = Path(directory)
        async with (
            account(folder, [checkout.command]) as settings,
            _served([checkout.command, "serve"], settings, folder, log) as port,
            httpx.AsyncClient(trust_env=False) as client,
        ):
            faults = f"{settings['OPENAI_BASE_URL'].removesuffix('/v1')}/_double/faults"
            await client.put(faults, json={"operation": "d1.*", "status": 503, "times": None})
            await _until_ready(port, 503)
            await asyncio.sleep(_OUTAGE_SECONDS)
            await client.delete(faults)
            seconds = await _until_ready(port, 200)
    return Measurement("D1 is back: /readyz answers 200 after", "s", seconds, "at most 5")


async def _ready_on_a_full_disk(checkout: Checkout) -> Measurement:
    """Let no file grow, as on a full disk, and ask for readiness after some seconds."""
    with TemporaryDirectory(prefix="outage-") as directory, tempfile.TemporaryFile() as log:
        folder, port = Path(directory), free_port()
        settings = {**_LOCAL, "DATA_DIR": directory, "HOST": HOST, "PORT": str(port)}
        with process([checkout.command, "serve"], settings, folder, log) as running:
            await _until_it_answers(port)
            await drive(port, Requests(one_agent(), seed=1).stores(10))
            resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            seconds = await _until_ready(port, 503, cap=_FULL_SECONDS)
    found = "200" if seconds >= _FULL_SECONDS else "503"
    return Measurement("the disk is full: /readyz answers", "status", found, "503")


async def _started_on_an_empty_file(checkout: Checkout) -> Measurement:
    """Fill a database, empty its file, and start the service on it."""
    with TemporaryDirectory(prefix="outage-") as directory, tempfile.TemporaryFile() as log:
        folder = Path(directory)
        settings = {**_LOCAL, "DATA_DIR": directory}
        async with _served([checkout.command, "serve"], settings, folder, log) as port:
            await drive(port, Requests(one_agent(), seed=1).stores(10))
        (folder / "memory.sqlite3").write_bytes(b"")
        again = {**settings, "HOST": HOST, "PORT": str(port := free_port())}
        with process([checkout.command, "serve"], again, folder, log) as running:
            answers = asyncio.create_task(_until_it_answers(port))
            ends = asyncio.create_task(asyncio.to_thread(running.wait, _START_SECONDS))
            await asyncio.wait([answers, ends], return_when=asyncio.FIRST_COMPLETED)
            answers.cancel()
            code = running.poll()
        await asyncio.gather(answers, ends, return_exceptions=True)
    found = "serves it as new" if code is None else f"ends with {code}"
    return Measurement("a start on a database of 0 bytes", "", found, "ends with 1")


async def _log_of_a_crowd(checkout: Checkout) -> Measurement:
    """Open more connections than the process may have files, and see what the log takes."""
    with TemporaryDirectory(prefix="outage-") as directory, tempfile.TemporaryFile() as log:
        command = ["/bin/sh", "-c", f"ulimit -n {_FILES}; exec {shlex.quote(checkout.command)} serve"]
        async with _served(command, {**_LOCAL, "DATA_DIR": directory}, Path(directory), log) as port:
            before = log.seek(0, 2)
            opening = [asyncio.create_task(asyncio.open_connection(HOST, port)) for _ in range(_CROWD)]
            await asyncio.sleep(_CROWD_SECONDS)
            written = log.seek(0, 2) - before
            for task in opening:
                task.cancel()
            for opened in await asyncio.gather(*opening, return_exceptions=True):
                if not isinstance(opened, BaseException):
                    opened[1].close()
    name = f"{_CROWD} connections and {_FILES} files: log in {_CROWD_SECONDS:g} s"
    return Measurement(name, "bytes", float(written), "at most 10,000")
