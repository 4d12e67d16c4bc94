"""What joining concurrent calls costs a single client: the same operations with it and without it, side by side."""

import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.adapters.openai.embedder import OpenAIEmbedder
from app.bootstrap import build_client, build_runtime
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.observability.metrics import Metrics
from app.runtime.runtime import Runtime
from app.services.memories.gateway import LongTermMemoryGateway
from app.settings import Settings
from bench.report import Figure
from bench.upstream import account, slow_down

_RATIO = 1.05
_ROUNDS, _OPERATIONS = 3, 10
_Operation = Callable[[LongTermMemoryGateway, int], Awaitable[object]]


async def coalescing() -> list[Figure]:
    """Measure the median time of a single client's stores and recalls, as a ratio to calls that are never joined."""
    with tempfile.TemporaryDirectory() as directory:
        async with account(Path(directory)) as given:
            named: dict[str, Any] = {name.lower(): value for name, value in given.items()}
            settings = Settings(_env_file=None, **named)
            joined = build_runtime(settings)
            await joined.prepare()
            slow_down(given["OPENAI_BASE_URL"].removesuffix("/v1"))
            try:
                return [
                    Figure(
                        f"{name} on Cloudflare, 1 at a time: p50 over calls that are not joined",
                        "x",
                        ratios,
                        limit=_RATIO,
                    )
                    for name, ratios in (
                        ("store", await _ratios(joined, settings, _store)),
                        ("recall", await _ratios(joined, settings, _recall)),
                    )
                ]
            finally:
                await joined.close()


async def _ratios(joined: Runtime, settings: Settings, operation: _Operation) -> list[float]:
    """Return each round's ratio; the two take turns, operation by operation."""
    client = build_client(settings, Metrics())
    embedder = OpenAIEmbedder(
        api_key=settings.openai_api_key or "",
        metrics=Metrics(),
        model="text-embedding-3-small",
        base_url=settings.openai_base_url,
    )
    bare = replace(
        joined.backends,
        database=D1Database(client, settings.cloudflare_d1_database_id or ""),
        index=VectorizeIndex(client, embedder.config, filterable=settings.filterable_metadata),
        embedder=embedder,
    )
    try:
        gateways = [LongTermMemoryGateway(each.of_tenant("tenant")) for each in (joined.backends, bare)]
        rounds = []
        for _ in range(_ROUNDS + 1):
            seconds: list[list[float]] = [[], []]
            for _ in range(_OPERATIONS):
                for gateway, taken in zip(gateways, seconds, strict=True):
                    number = time.perf_counter_ns()
                    await operation(gateway, number)
                    taken.append((time.perf_counter_ns() - number) / 1e9)
            rounds.append(median(seconds[0]) / median(seconds[1]))
        return rounds[1:]  # the first warms up
    finally:
        await embedder.close()
        await client.close()


async def _store(gateway: LongTermMemoryGateway, number: int) -> None:
    await gateway.store("assistant", NewMemory(f"What was seen at {number} is kept."))


async def _recall(gateway: LongTermMemoryGateway, number: int) -> None:
    await gateway.recall("assistant", Query(f"What was seen at {number}?", 5))
