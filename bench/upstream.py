"""What the service adds to the calls it makes: measured on Cloudflare's double, whose every answer takes its time."""

import asyncio
import json
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.client import HOST, drive, post_json
from bench.data import AUTH_SECRETS, Requests, one_agent
from bench.report import CPU, Figure
from bench.server import COMMAND, Server, free_port, process, service

_EMBEDDING_SECONDS, _CALL_SECONDS = 0.1, 0.04
_RATIO, _CPU_MS = 1.10, 6.0
_ROUNDS = 3
_OPERATIONS = {1: 20, 16: 240}
_WARM_UP, _PENDING = 100, 400
_PENDING_MS = 1.5
_SEED = 4
_START_SECONDS = 60.0
_INDEXED_SECONDS = 2.0
_CONFIRMED_SECONDS = 33.0
"""By then the indexer has taken what the index shows out of the outbox."""


async def upstream() -> list[Figure]:
    """Measure the wall time of stores and recalls against their critical path, and the service's own CPU."""
    requests, others = Requests(one_agent(), seed=_SEED), Requests(one_agent("other"), seed=_SEED)
    (first,) = requests.recalls(1)
    with tempfile.TemporaryDirectory() as directory:
        async with account(Path(directory)) as settings, service(Path(directory), settings, first) as server:
            for agent, count in ((requests, _WARM_UP + _PENDING), (others, _WARM_UP)):  # both have as many in the end
                await drive(server.port, agent.stores(count))
            await drive(server.port, requests.recalls(_WARM_UP))
            await asyncio.sleep(_INDEXED_SECONDS)
            await drive(server.port, requests.stores(1))  # a later write, so that the index's mark passes the others
            await asyncio.sleep(_CONFIRMED_SECONDS)
            slow_down(settings["OPENAI_BASE_URL"].removesuffix("/v1"))
            path, figures = calls(settings), [await _pending(server, requests, others)]
            for name, make in (("recall", requests.recalls), ("store", requests.stores)):
                for clients, operations in _OPERATIONS.items():
                    rounds = [
                        _Round(*await _cost(server, make(operations), clients), await _path(path, operations, clients))
                        for _ in range(_ROUNDS)
                    ]
                    limits = (_RATIO, None) if clients == 1 else (None, _CPU_MS if name == "recall" else None)
                    figures += _figures(f"{name} on Cloudflare, {clients} at a time", rounds, *limits)
    return figures


async def _pending(server: Server, settled: Requests, pending: Requests) -> Figure:
    """Measure what vectors that the index does not show yet add to a recall, beside an agent that has none."""
    await drive(server.port, pending.stores(_PENDING))
    added = []
    for _ in range(_ROUNDS):
        _, without = await _cost(server, settled.recalls(_OPERATIONS[16]), 16)
        _, with_them = await _cost(server, pending.recalls(_OPERATIONS[16]), 16)
        added.append(with_them - without)
    name = f"recall on Cloudflare: what {_PENDING} pending vectors of 1,536 dimensions add"
    return Figure(name, CPU, added, limit=_PENDING_MS)


@dataclass(frozen=True, slots=True)
class _Round:
    """One round: median wall and CPU milliseconds of the service, and the wall milliseconds of the bare calls."""

    wall: float
    cpu: float
    path: float


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls an operation cannot do without, as requests to the double."""

    port: int
    calls: Sequence[bytes]


async def _path(path: Calls, operations: int, clients: int) -> float:
    """Return the milliseconds the calls take alone, one after the other, from as many clients."""
    return sum([median(await drive(path.port, [call] * operations, clients=clients)) * 1000 for call in path.calls])


async def _cost(server: Server, requests: Sequence[bytes], clients: int) -> tuple[float, float]:
    """Return the median wall milliseconds of the requests and the service's CPU milliseconds for each."""
    before = server.cpu_seconds()
    seconds = await drive(server.port, requests, clients=clients)
    return median(seconds) * 1000, (server.cpu_seconds() - before) * 1000 / len(requests)


def _figures(name: str, rounds: Sequence[_Round], ratio: float | None, cpu: float | None) -> list[Figure]:
    """Return the figures; no ratio is asked of many clients, whose calls wait for each other to be joined."""
    return [
        Figure(f"{name}: p50", "ms", [r.wall for r in rounds], [r.path for r in rounds]),
        Figure(f"{name}: p50 over its calls alone", "x", [r.wall / r.path for r in rounds], limit=ratio),
        Figure(f"{name}: own work", CPU, [r.cpu for r in rounds], limit=cpu),
    ]


def calls(settings: Mapping[str, str]) -> Calls:
    """Return an embedding, a Vectorize query and a D1 query, as the service sends them."""
    port = int(settings["OPENAI_BASE_URL"].rpartition(":")[2].removesuffix("/v1"))
    account = f"/client/v4/accounts/{settings['CLOUDFLARE_ACCOUNT_ID']}"
    scope = {"tenant_id": "tenant", "agent_id": "assistant"}
    query = {"vector": [0.025] * 1536, "topK": 100, "returnMetadata": "none", "filter": scope}
    run = {"batch": [{"sql": "SELECT ?1 ->> 'a' AS a", "params": ['{"a":1}']}]}
    embedding = {"model": "text-embedding-3-small", "input": ["who?"], "encoding_format": "base64"}
    cloudflare = {"Authorization": f"Bearer {settings['CLOUDFLARE_API_TOKEN']}"}
    index = "lt-memory-openai-text-embedding-3-small"
    return Calls(
        port,
        [
            post_json("/v1/embeddings", embedding, {"Authorization": f"Bearer {settings['OPENAI_API_KEY']}"}),
            post_json(f"{account}/vectorize/v2/indexes/{index}/query", query, cloudflare),
            post_json(f"{account}/d1/database/{settings['CLOUDFLARE_D1_DATABASE_ID']}/query", run, cloudflare),
        ],
    )


@asynccontextmanager
async def account(directory: Path, own: Sequence[str] = COMMAND) -> AsyncIterator[Mapping[str, str]]:
    """Run a double whose clocks run fast, provision it, and yield the service's settings for it.

    ``own`` is the command line of the version that provisions it.

    They run 60 times as fast: D1's 30 seconds for a statement then are half of one.
    """
    port = free_port()
    url = f"http://{HOST}:{port}"
    settings = {
        "AUTH_SECRETS": AUTH_SECRETS,
        "READER": "none",
        "EMBEDDER": "openai",
        "CLOUDFLARE_API_BASE_URL": f"{url}/client/v4",
        "CLOUDFLARE_ACCOUNT_ID": "0" * 32,
        "CLOUDFLARE_API_TOKEN": "double-token",
        "CLOUDFLARE_CALLS_PER_WINDOW": "0",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "double-key",
    }
    command = [*COMMAND, "double", "--host", HOST, "--port", str(port), "--no-rate-limit", "--time-scale", "60"]
    with tempfile.TemporaryFile() as log, process(command, {}, directory, log):
        await _until_up(url)
        env_file = directory / "provisioned.env"
        provision = [*own, "provision", "--yes", "--poll-seconds", "0.05", "--write-env", str(env_file)]
        with process(provision, settings, directory, log) as provisioning:
            await asyncio.to_thread(provisioning.wait, _START_SECONDS)
        yield {**settings, **dict(line.split("=", 1) for line in env_file.read_text("utf-8").splitlines())}


def set_clock(url: str, scale: float) -> None:
    """Let the double's clocks count so many seconds in one."""
    _control(url, "PUT", "options", {"time_scale": scale})


def slow_down(url: str, scale: float = 1) -> None:
    """Let the double's clocks run as the world's, or as told, and every answer take its time."""
    set_clock(url, scale)
    for operation, seconds in (
        ("openai.*", _EMBEDDING_SECONDS),
        ("d1.*", _CALL_SECONDS),
        ("vectorize.*", _CALL_SECONDS),
    ):
        fault = {"operation": operation, "kind": "delay", "delay_seconds": seconds, "times": None}
        _control(url, "PUT", "faults", fault)


def calls_of(url: str) -> Mapping[str, int]:
    """Return how often each operation of the double was called since they were last forgotten."""
    counted: dict[str, int] = json.loads(_control(url, "GET", "calls"))
    return counted


def forget_calls(url: str) -> None:
    """Let the double count its calls from 0."""
    _control(url, "DELETE", "calls")


async def _until_up(url: str) -> None:
    async with asyncio.timeout(_START_SECONDS):
        while True:
            try:
                _control(url, "GET", "healthz")
            except OSError:
                await asyncio.sleep(0.02)
            else:
                return


def _control(url: str, method: str, path: str, body: Mapping[str, object] | None = None) -> bytes:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 - the double of this run
        f"{url}/_double/{path}", content, {"Content-Type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - the same
        content_read: bytes = answer.read()
    return content_read
