"""Embeds and writes the memories of an ingestion: messages, and what a model has learned of them."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.json_types import Json
from app.domain.memory import Tenant
from app.indexing.delivery import BATCH_SECONDS
from app.ports.vector_index import IndexedVector
from app.services.ingest.work import IngestionWork
from app.services.memories.write import Writer, audited
from app.services.memories.write_outcomes import WriteOutcome
from app.services.tenant.backends import TenantBackends
from app.storage.memories import Batch, MemoryWrite
from app.storage.scoped import ScopedStatement

RUN_BYTES = 1_200_000
"""Bytes of the lines that are written in one run, with their vectors."""
_EMBEDDED_AT_ONCE = 32 * 1024
"""Characters that are embedded in one call, at most; a longer text is embedded alone."""


async def write_lines(
    work: IngestionWork,
    lines: Sequence[MemoryWrite],
    beside: Sequence[ScopedStatement] = (),
    detail: dict[str, Json] | None = None,
    leaving: int = 0,
) -> list[WriteOutcome]:
    """Embed and write lines in one run, with the statements ``beside`` them; ``detail`` is for the audit.

    ``leaving``: the bytes that the staged messages count whose place the lines take.

    Raises:
        EmbeddingConfigChanged, MetadataDiffers, QuotaExceeded: as ``Writer.write``; nothing was written.
    """
    backends = work.backends
    used = backends.data.configs
    started = time.perf_counter()
    texts = [line.memory.embedded_text for line in lines]
    vectors = [vector for group in _groups(texts) for vector in await _embedded(backends, used.active, group)]
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    told = audited(used.active) | {"embedding_ms": milliseconds, "together": len(texts)} | (detail or {})
    shadows = await backends.models.shadow_vectors(texts, used.shadow)
    made = [
        replace(line, vectors={used.active.index_name: vector, **shadow}, detail=told)
        for line, vector, shadow in zip(lines, vectors, shadows, strict=True)
    ]
    batch = Batch(
        Tenant(backends.tenant_id),
        made,
        used,
        backends.clock(),
        backends.limits.quotas,
        backends.author,
        is_store=True,
        ingestion=work.own,
        beside=beside,
        leaving_bytes=leaving,
    )
    outcomes = await Writer(backends, work.run).write(batch)
    for config in used.configs:
        await _deliver(backends, config, made, outcomes)
    return outcomes


async def _embedded(backends: TenantBackends, config: EmbeddingConfig, texts: Sequence[str]) -> Sequence[Vector]:
    return (await backends.models.embedder_of(config).embed(texts, "document")).vectors


def _groups(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts in groups that are embedded at once: other requests of the tenant are served between two groups."""
    group: list[str] = []
    size = 0
    for text in texts:
        if group and size + len(text) > _EMBEDDED_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    yield group


async def _deliver(
    backends: TenantBackends, config: EmbeddingConfig, lines: Sequence[MemoryWrite], outcomes: Sequence[WriteOutcome]
) -> None:
    """Bring the vectors that were queued to the index; those that fail are left to the indexer."""
    name = config.index_name
    vectors = [
        IndexedVector(
            line.memory.scope,
            line.memory.id,
            line.vectors[name],
            outcome.created_at,
            outcome.revisions[name],
            line.memory.metadata,
        )
        for line, outcome in zip(lines, outcomes, strict=True)
        if outcome.holder == line.memory.id and name in outcome.revisions
    ]
    if vectors:
        await backends.data.deliveries.deliver(
            backends.data.index_of(config),
            name,
            vectors,
            first_time=True,
            wait_seconds=BATCH_SECONDS,
        )
