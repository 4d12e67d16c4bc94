"""Fills a data directory through the project's own ports, in batches."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
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
_RANDOM_BITS = 80
"""Of a ULID, below its time."""

Metadata = Callable[[int], Mapping[str, Json]]
"""Gives the metadata of a memory, by its number."""


def no_metadata(_: int) -> Mapping[str, Json]:
    """Return none."""
    return MappingProxyType({})


def prefill(
    data_dir: Path, embedder: str, scopes: Sequence[Scope], memories: int, metadata: Metadata = no_metadata
) -> None:
    """Store this many memories, the same number in each scope, as if long ago: nothing waits in the outbox.

    Vectors come from the hashing embedder whatever the config in use: what a search costs does not depend
    on the values, and the model would take minutes. Ids rise with the numbers of the memories.
    """
    configure_logging("text", "warning")
    asyncio.run(_prefill(data_dir, embedder, scopes, memories, metadata))


async def _prefill(data_dir: Path, embedder: str, scopes: Sequence[Scope], memories: int, metadata: Metadata) -> None:
    runtime = build_runtime(load_settings(data_dir=data_dir, embedder=embedder, auth_secrets=SECRETS))
    try:
        await runtime.start()
        hashing = HashingEmbedder()
        texts, ids = enumerate(notes(SEED)), _ids()
        for scope in scopes:
            left = memories // len(scopes)
            while batch := list(islice(texts, min(_BATCH, left))):
                left -= len(batch)
                vectors = (await hashing.embed([text for _, text in batch], "document")).vectors
                new = {next(ids): NewMemory(text, dict(metadata(number))) for number, text in batch}
                await _put(runtime.backends, scope, new, vectors)
    finally:
        await runtime.close()


def _ids() -> Iterator[str]:
    """Yield ids that rise, so that two runs put the memories in one order."""
    first = wall_clock() << _RANDOM_BITS
    return (str(ULID.from_int(first + number)) for number in count())


async def _put(backends: Backends, scope: Scope, memories: Mapping[str, NewMemory], vectors: Sequence[Vector]) -> None:
    config, now = backends.embedder.config, wall_clock()
    lines = [MemoryWrite(memory.of(scope, id_, now), {}, {}) for id_, memory in memories.items()]
    await backends.database.run([insert(Tenant(scope.tenant_id), lines, config, Author(), now)])
    await backends.index.upsert(
        [
            IndexedVector(scope, line.memory.id, vector, now, now, metadata=line.memory.metadata)
            for line, vector in zip(lines, vectors, strict=True)
        ]
    )
