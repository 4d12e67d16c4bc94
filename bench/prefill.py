"""Fills a data directory through the project's own ports, in batches."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

from ulid import ULID

from app.adapters.local.hashing import HashingEmbedder
from app.bootstrap import build_runtime
from app.domain.author import Author
from app.domain.embedding import Vector
from app.domain.explicit import permitted
from app.domain.facts import Fact
from app.domain.memory import Memory, NewMemory, Scope, Tenant
from app.domain.messages import NewMessage
from app.domain.moments import wall_clock
from app.observability.logs import configure_logging
from app.ports.vector_index import IndexedVector
from app.runtime.backends import Backends
from app.runtime.runtime import Runtime
from app.services.ingest.ingester import Ingester
from app.settings import load_settings
from app.storage.memories import MemoryWrite, insert
from bench.data import SECRETS, notes, questions

_BATCH = 1000
_CONVERSATION = 50
_UNLIMITED = 1_000_000_000
SEED = 1
"""Of the notes."""
_RANDOM_BITS = 80
"""Of a ULID, below its time."""
SPAN_MS = 7 * 86_400_000
"""The memories of a fill were stored within so long before now, by their clocks."""

Making = Callable[[int, str], NewMemory]
"""Makes a memory of its number and a note."""


def plain(_: int, note: str) -> NewMemory:
    """Return a memory that is the note."""
    return NewMemory(note)


def fact(number: int, note: str) -> NewMemory:
    """Return a fact as ``POST /facts`` keeps it, about one of a thousand subjects."""
    person, _, rest = note.partition(" ")
    told = Fact(f"{person} {number % 1000}", "has said", rest)
    return NewMemory(told.sentence, told.metadata)


def prefill(data_dir: Path, embedder: str, scopes: Sequence[Scope], memories: int, making: Making = plain) -> None:
    """Store this many memories, the same number in each scope, as if long ago: nothing waits in the outbox.

    Vectors come from the hashing embedder whatever the config in use: what a search costs does not depend
    on the values, and the model would take minutes. No memory waits for a reader. Ids and moments rise with the
    numbers.
    """
    configure_logging("text", "warning")

    async def fill(runtime: Runtime) -> None:
        hashing = HashingEmbedder()
        texts, apart = enumerate(notes(SEED)), SPAN_MS // memories
        moments = count(wall_clock() - memories * apart, apart)
        for scope in scopes:
            left = memories // len(scopes)
            while batch := list(islice(texts, min(_BATCH, left))):
                left -= len(batch)
                made = [
                    (making(number, text).of(scope, id_, now))
                    for (number, text), now, id_ in zip(batch, moments, _ids(), strict=False)
                ]
                vectors = (await hashing.embed([memory.content for memory in made], "document")).vectors
                await _put(runtime.backends, scope, made, vectors)

    asyncio.run(_filling(data_dir, embedder, fill))


def ingest(data_dir: Path, embedder: str, scopes: Sequence[Scope], messages: int) -> None:
    """Ingest conversations of 50 messages, of a user who asks and an assistant who answers, until there are so many."""
    configure_logging("text", "warning")

    async def fill(runtime: Runtime) -> None:
        asked, answered = questions(SEED), notes(SEED)
        for scope in scopes:
            ingester = Ingester(runtime.backends.of_tenant(scope.tenant_id))
            for session in range(messages // len(scopes) // _CONVERSATION):
                said = [
                    NewMessage("user", next(asked)) if number % 2 == 0 else NewMessage("assistant", next(answered))
                    for number in range(_CONVERSATION)
                ]
                await ingester.ingest(scope.agent_id, said, f"session-{session}")
        await runtime.backends.deliveries.settle()

    asyncio.run(_filling(data_dir, embedder, fill))


async def _filling(data_dir: Path, embedder: str, fill: Callable[[Runtime], Awaitable[None]]) -> None:
    settings = load_settings(
        data_dir=data_dir,
        embedder=embedder,
        auth_secrets=SECRETS,
        reader="none",
        agent_stores_per_minute=_UNLIMITED,
        tenant_stores_per_minute=_UNLIMITED,
    )
    runtime = build_runtime(settings)
    try:
        await runtime.start()
        await fill(runtime)
    finally:
        await runtime.close()


def _ids() -> Iterator[str]:
    """Yield ids that rise, so that two runs put the memories in one order."""
    first = wall_clock() << _RANDOM_BITS
    return (str(ULID.from_int(first + number)) for number in count())


async def _put(backends: Backends, scope: Scope, memories: Sequence[Memory], vectors: Sequence[Vector]) -> None:
    config, author, now = backends.embedder.config, Author(), wall_clock()
    lines = [MemoryWrite(memory, {}, {}, stated=replace(permitted(memory, author), waits=False)) for memory in memories]
    await backends.database.run([insert(Tenant(scope.tenant_id), lines, config, author, now)])
    await backends.index.upsert(
        [
            IndexedVector(scope, memory.id, vector, memory.created_at, now, memory.metadata)
            for memory, vector in zip(memories, vectors, strict=True)
        ]
    )
