"""What a recall takes behind the Worker of ``deploy/edge``, on workerd: one call, in which the index takes its time.

D1 is Cloudflare's own, on this machine; embeddings and the index are the double's, as slow as in ``bench.upstream``.
The Worker runs as the conformance tests run it, and so only where their packages are installed.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from app.domain.embedding import EmbeddingConfig
from app.ports.database import Statement
from bench.client import drive, post_json
from bench.data import AUTH_SECRETS, Requests, one_agent
from bench.report import Figure
from bench.server import service
from memory_gateway_double.faults import Fault
from tests.conformance.edge import ACCOUNT_ID, SECRET, Edge, Slot, running_edge
from tests.conformance.test_edge_database import edge_database
from tests.conformance.toolchain import missing

_EMBEDDING_SECONDS, _INDEX_SECONDS = 0.1, 0.04
_RATIO = 1.10
_ROUNDS, _RECALLS, _MEMORIES = 3, 20, 100
_STORING = 64
_SEED = 4
_CONFIG = EmbeddingConfig("openai", "text-embedding-3-small", 1536)
_EMBEDDING = {"model": "text-embedding-3-small", "input": ["who?"], "encoding_format": "base64"}
_NAME = "recall behind the edge, 1 at a time"


@dataclass(frozen=True, slots=True)
class Behind:
    """A running service and the Worker that it is behind."""

    port: int
    worker: Edge
    settings: Mapping[str, str]


async def edge() -> list[Figure]:
    """Measure recalls against what their two calls take; no figures where the packages are not installed."""
    if missing():
        return []
    requests = Requests(one_agent(), seed=_SEED)
    async with behind_edge(requests, _MEMORIES) as running:
        walls, paths, calls = [], [], []
        for _ in range(_ROUNDS):
            await asyncio.to_thread(running.worker.called)
            walls.append(median(await drive(running.port, requests.recalls(_RECALLS), clients=1)) * 1000)
            called = await asyncio.to_thread(running.worker.called)
            calls.append(called.count("/recall-fused") / _RECALLS)
            paths.append(await _path(running.settings, await asyncio.to_thread(running.worker.fused)))
    nominal = (_EMBEDDING_SECONDS + _INDEX_SECONDS) * 1000
    return [
        Figure(f"{_NAME}: p50", "ms", walls, paths),
        Figure(
            f"{_NAME}: p50 over its calls alone", "x", [w / p for w, p in zip(walls, paths, strict=True)], limit=_RATIO
        ),
        Figure(f"{_NAME}: p50 over {nominal:g} ms", "x", [wall / nominal for wall in walls], limit=_RATIO),
        Figure(f"{_NAME}: calls of the Worker", "calls", calls, limit=1.0),
    ]


def not_measured() -> str:
    """Say why nothing is measured behind the edge."""
    return f"Not measured behind the edge: {', '.join(missing())} not installed (`make conformance` does it)."


@asynccontextmanager
async def behind_edge(requests: Requests, memories: int) -> AsyncIterator[Behind]:
    """Run a service behind the Worker: so many memories are stored, and embeddings and the index take their time."""
    (first,) = requests.recalls(1)
    slots = [Slot(0, _CONFIG), Slot(1, _CONFIG)]
    with TemporaryDirectory(prefix="edge-") as directory, running_edge(Path(directory), slots) as worker:
        slot = worker.slot()
        settings = _settings(worker, slot)
        async with service(Path(directory), settings, first) as server:
            await drive(server.port, requests.stores(memories), clients=_STORING)
            async with edge_database(worker, "worker", slot) as database:  # as if the index had confirmed them
                await database.run([Statement("DELETE FROM outbox", writes=True)])
            await drive(server.port, requests.recalls(_RECALLS))
            for operation, seconds in (("openai.*", _EMBEDDING_SECONDS), ("vectorize.query", _INDEX_SECONDS)):
                worker.double.double.faults.add(Fault(operation, kind="delay", delay_seconds=seconds, times=None))
            yield Behind(server.port, worker, settings)


def _settings(worker: Edge, slot: Slot) -> Mapping[str, str]:
    return {
        "AUTH_SECRETS": AUTH_SECRETS,
        "READER": "none",
        "EMBEDDER": "openai",
        "CLOUDFLARE_API_BASE_URL": worker.base_url("worker", slot),
        "CLOUDFLARE_ACCOUNT_ID": ACCOUNT_ID,
        "CLOUDFLARE_API_TOKEN": SECRET,
        "CLOUDFLARE_D1_DATABASE_ID": slot.database_id,
        "OPENAI_BASE_URL": worker.double.openai_url,
        "OPENAI_API_KEY": worker.double.double.options.openai_api_key,
    }


async def _path(settings: Mapping[str, str], fused: object) -> float:
    """Return the milliseconds that an embedding and the last recall's own call take alone, one after the other."""
    return sum(
        [
            await _alone(settings["OPENAI_BASE_URL"], "/embeddings", _EMBEDDING, settings["OPENAI_API_KEY"]),
            await _alone(settings["CLOUDFLARE_API_BASE_URL"], "/recall-fused", fused, settings["CLOUDFLARE_API_TOKEN"]),
        ]
    )


async def _alone(base_url: str, path: str, body: object, secret: str) -> float:
    port, _, prefix = base_url.rpartition(":")[2].partition("/")
    call: Sequence[bytes] = [post_json(f"/{prefix}{path}", body, {"Authorization": f"Bearer {secret}"})] * _RECALLS
    return median(await drive(int(port), call, clients=1)) * 1000
