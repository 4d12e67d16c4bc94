"""Memories that come back after their deletion, while the data moves to another embedding model: each stays."""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import Conflict, UpstreamUnavailable
from app.domain.memory import NewMemory, Scope
from app.indexing.embedding_registry import EmbeddingRegistry
from app.indexing.indexer import Indexer
from app.indexing.jobs.reconcile import Reconcile
from app.indexing.jobs.reembed import Reembedding
from app.indexing.rate_limiter import RateLimiter
from app.services.memories.gateway import LongTermMemoryGateway
from app.storage import deletions
from app.storage.system import index_build
from tests.services.transfer.corpus import exported, file_of, imported, numbered
from tests.support.backends import Backend
from tests.support.doubles import FailingEmbedder, FailingIndex
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on

OTHER = EmbeddingConfig("hashing", "ngrams-v1", 384)
USED = OTHER.with_document_prefix("passage: ")
AWAY = UpstreamUnavailable("away")


@dataclass
class Move:
    """A bench whose data moves from ``USED`` to ``OTHER``, and the ports of the latter."""

    bench: Bench
    index: FailingIndex
    embedder: FailingEmbedder

    @property
    def reembedding(self) -> Reembedding:
        return Reembedding(self.bench.database, RateLimiter(1e9))

    async def complete(self) -> bool:
        state = await self.reembedding.state()
        assert state is not None
        return state.complete

    async def copy(self) -> None:
        """What ``reembed start`` does, but for the waiting."""
        state = await self.reembedding.begin(OTHER)
        ports = (self.bench.database, self.index, self.embedder)
        await Reconcile(*ports, holder="copy", rate_limiter=RateLimiter(1e9), repair=True, report=lambda _: None).run()
        await self.reembedding.copied(state.left_out)

    async def vector(self, id_: str) -> np.ndarray | None:
        return (await self.index.inner.vectors("acme", [id_])).get(id_)

    async def shows(self, id_: str, content: str) -> bool:
        """Tell whether the other index has the vector of this content."""
        vector = await self.vector(id_)
        made = await self.embedder.inner.embed([content], "document")
        return vector is not None and float(vector @ made.vectors[0]) > 0.999


@pytest.fixture
async def move(tmp_path: Path, backend: Backend) -> AsyncIterator[Move]:
    backend.settings(tmp_path)
    if tmp_path in backend.doubles:  # it has the index of the other config
        backend.doubles[tmp_path].double.create_index(USED.index_name, USED.dimensions, SCOPE_TYPES)
    async with bench_on(tmp_path, backend, embedding_document_prefix="passage: ") as bench:
        registry = bench.backends.registry
        index, embedder = FailingIndex(registry.index(OTHER)), FailingEmbedder(registry.embedder(OTHER))
        bench.backends = replace(bench.backends, registry=EmbeddingRegistry(lambda _: index, lambda _: embedder))
        ports = (bench.database, bench.backends.index_of, bench.backends.acknowledgements)
        bench.indexer = Indexer(*ports, holder="moving")
        bench.gateway = LongTermMemoryGateway(bench.backends.of_tenant("acme", ADMINISTRATOR))
        assert bench.embedder.config == USED
        move = Move(bench, index, embedder)
        await move.reembedding.begin(OTHER)
        yield move


async def stored(move: Move, content: str = "the safe code is 4711") -> str:
    """Store a memory, and wait until both indexes show it and nothing is queued."""
    id_ = await move.bench.gateway.store("bot", NewMemory(content))
    await move.bench.quiet()
    assert await move.bench.queued() == {}
    assert await move.shows(id_, content)
    return id_


async def deleted_and_imported(move: Move, id_: str, data: bytes) -> None:
    await move.bench.gateway.delete("bot", id_)
    assert await move.bench.memories() == 0
    assert (await imported(move.bench, data))[-1]["imported"] == 1


BOTH = pytest.mark.parametrize("embedder_error", [None, AWAY], ids=["the other model answers", "it does not"])


@BOTH
async def test_a_memory_that_is_imported_again_stays_though_the_other_index_takes_no_change(
    move: Move, embedder_error: UpstreamUnavailable | None
) -> None:
    id_ = await stored(move)
    data = await exported(move.bench)
    move.index.error, move.embedder.error = AWAY, embedder_error
    await deleted_and_imported(move, id_, data)
    for _ in range(12):
        with suppress(UpstreamUnavailable):
            await move.bench.quiet(rounds=1)
    assert await move.bench.memories() == 1
    move.index.error = None
    await move.bench.quiet()
    assert await move.bench.contents("safe code") == ["the safe code is 4711"]
    assert await move.shows(id_, "the safe code is 4711") == (embedder_error is None)
    assert await move.bench.queued() == {}


@BOTH
async def test_a_memory_that_is_imported_again_stays_while_the_other_index_is_being_made(
    move: Move, embedder_error: UpstreamUnavailable | None
) -> None:
    id_ = await stored(move)
    data = await exported(move.bench)
    await index_build.begin(move.bench.database, OTHER)
    move.index.error, move.embedder.error = AWAY, embedder_error
    await deleted_and_imported(move, id_, data)
    await move.bench.delivered()
    move.index.error = None
    await move.bench.quiet()
    assert await move.bench.memories() == 1
    await index_build.end(move.bench.database, OTHER)
    await move.bench.quiet()
    assert await move.bench.contents("safe code") == ["the safe code is 4711"]
    assert await move.shows(id_, "the safe code is 4711") == (embedder_error is None)
    assert await move.bench.queued() == {}


async def test_the_other_index_shows_what_was_imported_and_not_what_was_deleted_under_its_id(move: Move) -> None:
    id_ = await stored(move, "memory 5 of another day")
    await deleted_and_imported(move, id_, file_of([replace(numbered(1)[0], id=id_)]))
    await move.bench.quiet()
    assert await move.shows(id_, "memory 0")
    assert await move.bench.contents("memory") == ["memory 0"]


async def test_without_the_other_embedder_an_import_holds_and_what_it_left_out_is_copied_later(move: Move) -> None:
    id_ = await stored(move)
    data = await exported(move.bench)
    await move.copy()
    assert await move.complete()
    move.embedder.error = AWAY
    await deleted_and_imported(move, id_, data)
    await move.bench.quiet()
    assert await move.bench.contents("safe code") == ["the safe code is 4711"]
    assert await move.vector(id_) is None
    assert not await move.complete()
    move.embedder.error = None
    await move.copy()
    await move.reembedding.switch(OTHER, force=True)
    await move.bench.quiet()
    assert await move.bench.contents("safe code") == ["the safe code is 4711"]
    assert await move.shows(id_, "the safe code is 4711")


async def test_a_copy_takes_the_place_of_a_removal_that_waits_though_its_memory_is_there(move: Move) -> None:
    id_ = await stored(move, "memory 5 of another day")
    move.embedder.error = AWAY
    await deleted_and_imported(move, id_, file_of([replace(numbered(1)[0], id=id_)]))
    move.embedder.error = None
    state = await move.reembedding.state()
    assert state is not None
    await move.reembedding.copied(state.left_out)  # as a copy would that had passed the memory before
    with pytest.raises(Conflict, match="does not show yet"):
        await move.reembedding.switch(OTHER, force=True)
    await move.copy()
    await move.reembedding.switch(OTHER, force=True)
    await move.bench.quiet()
    assert await move.bench.contents("memory") == ["memory 0"]
    assert await move.shows(id_, "memory 0")


async def test_a_deletion_that_stopped_half_way_is_finished_though_the_data_is_copied_meanwhile(move: Move) -> None:
    id_ = await stored(move)
    whole = deletions.delete(Scope("acme", "bot"), id_, ADMINISTRATOR, now=move.bench.clock())
    database = move.bench.backends.of_tenant("acme", ADMINISTRATOR).data.database
    await database.run(whole[:-1])
    assert await move.bench.memories() == 1
    await move.copy()
    await move.bench.quiet()
    assert await move.bench.memories() == 0
    assert await move.vector(id_) is None
    assert await move.bench.queued() == {}
