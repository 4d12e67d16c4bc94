"""Fills a data directory through the project's own ports, in batches."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from ulid import ULID

from app.adapters.local.hashing import HashingEmbedder
from app.bootstrap import build_runtime
from app.domain.author import Author
from app.domain.embedding import Vector
from app.domain.json_types import Json
from app.domain.memory import NewMemory, Scope, Tenant
from app.domain.moments import wall_clock
from app.observability.logs import configure_logging
from app.ports.vector_index import IndexedVector
from app.runtime.backends import Backends
from app.settings import load_settings
from app.storage.memories import MemoryWrite, insert
from bench.data import SECRETS, notes

_BATCH = 1000
SEED = 1
"""Of the notes."""


def prefill(
    data_dir: Path,
    embedder: str,
    scopes: Sequence[Scope],
    memories: int,
    metadata: Mapping[str, Json] = MappingProxyType({}),
) -> None:
    """Store this many memories, the same number in each scope, as if long ago: nothing waits in the outbox.

    Vectors come from the hashing embedder whatever the config in use: what a search costs does not depend
    on the values, and the model would take minutes.
    """
    configure_logging("text", "warning")
    asyncio.run(_prefill(data_dir, embedder, scopes, memories, metadata))


async def _prefill(
    data_dir: Path, embedder: str, scopes: Sequence[Scope], memories: int, metadata: Mapping[str, Json]
) -> None:
    runtime = build_runtime(load_settings(data_dir=data_dir, embedder=embedder, auth_secrets=SECRETS))
    try:
        await runtime.start()
        hashing = HashingEmbedder()
        texts = notes(SEED)
        for scope in scopes:
            left = memories // len(scopes)
            while batch := list(islice(texts, min(_BATCH, left))):
                left -= len(batch)
                vectors = (await hashing.embed(batch, "document")).vectors
                await _put(runtime.backends, scope, [NewMemory(text, dict(metadata)) for text in batch], vectors)
    finally:
        await runtime.close()


async def _put(backends: Backends, scope: Scope, memories: Sequence[NewMemory], vectors: Sequence[Vector]) -> None:
    config, now = backends.embedder.config, wall_clock()
    ids = [str(ULID()) for _ in memories]
    lines = [MemoryWrite(memory.of(scope, id_, now), {}, {}) for id_, memory in zip(ids, memories, strict=True)]
    await backends.database.run([insert(Tenant(scope.tenant_id), lines, config, Author(), now)])
    await backends.index.upsert(
        [IndexedVector(scope, id_, vector, now, now) for id_, vector in zip(ids, vectors, strict=True)]
    )
