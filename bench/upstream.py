"""What the service adds to the calls it makes: measured on Cloudflare's double, whose every answer takes its time."""

import asyncio
import json
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from bench.client import HOST, drive
from bench.data import AUTH_SECRETS, Requests, one_agent
from bench.report import Figure
from bench.server import COMMAND, Server, free_port, process, service

_EMBEDDING_SECONDS, _CALL_SECONDS = 0.1, 0.04
_CRITICAL_PATH_MS = (_EMBEDDING_SECONDS + 2 * _CALL_SECONDS) * 1000
_RATIO, _CPU_MS = 1.10, 6.0
_ROUNDS = 5
_OPERATIONS = {1: 20, 16: 240}
_WARM_UP = 48
_SEED = 4
_START_SECONDS = 20.0
_CONFIRMED_SECONDS = 33.0
"""By then the indexer has taken what the index shows out of the outbox."""


async def upstream() -> list[Figure]:
    """Measure the wall time of stores and recalls against their critical path, and the service's own CPU."""
    requests = Requests(one_agent(), seed=_SEED)
    (first,) = requests.recalls(1)
    with tempfile.TemporaryDirectory() as directory:
        async with _account(Path(directory)) as settings, service(Path(directory), settings, first) as server:
            await drive(server.port, requests.stores(_WARM_UP))
            await drive(server.port, requests.recalls(_WARM_UP))
            await asyncio.sleep(_CONFIRMED_SECONDS)
            _slow_down(settings["OPENAI_BASE_URL"].removesuffix("/v1"))
            figures = []
            for name, make in (("recall", requests.recalls), ("store", requests.stores)):
                for clients, operations in _OPERATIONS.items():
                    rounds = [await _round(server, make(operations), clients) for _ in range(_ROUNDS)]
                    figures += _figures(f"{name} on Cloudflare, {clients} clients", rounds)
    return figures


async def _round(server: Server, requests: Sequence[bytes], clients: int) -> tuple[float, float]:
    """Return the median wall milliseconds of the requests and the service's CPU milliseconds for each."""
    before = server.cpu_seconds()
    seconds = await drive(server.port, requests, clients=clients)
    return median(seconds) * 1000, (server.cpu_seconds() - before) * 1000 / len(requests)


def _figures(name: str, rounds: Sequence[tuple[float, float]]) -> list[Figure]:
    path = [wall / _CRITICAL_PATH_MS for wall, _ in rounds]
    limit = _CPU_MS if name.startswith("recall") else None
    return [
        Figure(f"{name}: p50 over the critical path", "x", path, limit=_RATIO),
        Figure(f"{name}: own work", "ms CPU", [cpu for _, cpu in rounds], limit=limit),
    ]


@asynccontextmanager
async def _account(directory: Path) -> AsyncIterator[Mapping[str, str]]:
    """Run a double whose clocks run fast, provision it, and yield the service's settings for it."""
    port = free_port()
    url = f"http://{HOST}:{port}"
    settings = {
        "AUTH_SECRETS": AUTH_SECRETS,
        "EMBEDDER": "openai",
        "CLOUDFLARE_API_BASE_URL": f"{url}/client/v4",
        "CLOUDFLARE_ACCOUNT_ID": "0" * 32,
        "CLOUDFLARE_API_TOKEN": "double-token",
        "CLOUDFLARE_CALLS_PER_WINDOW": "0",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "double-key",
    }
    command = [*COMMAND, "double", "--host", HOST, "--port", str(port), "--no-rate-limit", "--time-scale", "600"]
    with tempfile.TemporaryFile() as log, process(command, {}, directory, log):
        await _until_up(url)
        env_file = directory / "provisioned.env"
        provision = [*COMMAND, "provision", "--yes", "--poll-seconds", "0.05", "--write-env", str(env_file)]
        with process(provision, settings, directory, log) as provisioning:
            await asyncio.to_thread(provisioning.wait, _START_SECONDS)
        yield {**settings, **dict(line.split("=", 1) for line in env_file.read_text("utf-8").splitlines())}


def _slow_down(url: str) -> None:
    """Let the double's clocks run as the world's, and every answer take its time."""
    _control(url, "PUT", "options", {"time_scale": 1})
    for operation, seconds in (
        ("openai.*", _EMBEDDING_SECONDS),
        ("d1.*", _CALL_SECONDS),
        ("vectorize.*", _CALL_SECONDS),
    ):
        fault = {"operation": operation, "kind": "delay", "delay_seconds": seconds, "times": None}
        _control(url, "PUT", "faults", fault)


async def _until_up(url: str) -> None:
    async with asyncio.timeout(_START_SECONDS):
        while True:
            try:
                _control(url, "GET", "healthz")
            except OSError:
                await asyncio.sleep(0.02)
            else:
                return


def _control(url: str, method: str, path: str, body: Mapping[str, object] | None = None) -> None:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 - the double of this run
        f"{url}/_double/{path}", content, {"Content-Type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - the same
        answer.read()
