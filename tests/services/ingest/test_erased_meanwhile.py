"""Nothing is written of an ingestion that was erased or undone while its messages were being embedded."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.domain.author import Author
from app.domain.episodes import NewRun
from app.domain.errors import Erasing
from app.domain.messages import NewMessage
from app.domain.undoing import Selected
from app.ports.embedder import Embeddings, Purpose
from app.services.ingest.ingester import Ingester
from app.services.memories.undo import Undo
from app.services.memories.undo_taught import UndoTaught
from app.services.tiers.episodic import EpisodicMemory
from app.storage.ingestions import Ingestion
from tests.support.backends import Backend
from tests.support.doubles import FailingEmbedder
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.tables import rows_of

RUN, OTHER = "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "01K2Z4M1V7Q8T3B5N6C7D8E9FB"


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


@dataclass
class SlowEmbedder(FailingEmbedder):
    """Says that it has begun to embed, and waits to be told to go on."""

    began: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        self.began.set()
        await self.goes_on.wait()
        return await super().embed(texts, purpose, tenant_id=tenant_id)


def ingesting(bench: Bench, author: Author, run_id: str | None = None) -> tuple[asyncio.Task[Ingestion], SlowEmbedder]:
    embedder = SlowEmbedder(bench.embedder)
    backends = with_changed(bench.backends.of_tenant("acme", author), embedder_of=lambda _: embedder, run_id=run_id)
    return asyncio.create_task(Ingester(backends).ingest("bot", [NewMessage("user", "secret")], "s")), embedder


async def left(bench: Bench) -> list[int]:
    counts = [await rows_of(bench, table, "count(*) AS n") for table in ("long_term_memory", "message")]
    return [int(rows[0]["n"] or 0) for rows in counts]


async def test_what_was_erased_before_it_was_written_is_not_written_afterwards(bench: Bench) -> None:
    task, embedder = ingesting(bench, ADMINISTRATOR)
    await embedder.began.wait()
    accepted = await bench.gateway.erase("bot")
    await bench.quiet()
    assert (await bench.gateway.erasure(accepted.id)).receipt is not None
    embedder.goes_on.set()
    with pytest.raises(Erasing):
        await task
    assert await left(bench) == [0, 0]


async def test_what_was_undone_before_it_was_written_is_not_written_afterwards(bench: Bench) -> None:
    task, embedder = ingesting(bench, Author("stolen", "http"))
    await embedder.began.wait()
    await Undo(bench.backends.of_tenant("acme", ADMINISTRATOR)).run("stolen")
    embedder.goes_on.set()
    ingestion = await task
    assert (ingestion.status, ingestion.failure) == ("failed", "unauthenticated")
    assert [item.status for item in ingestion.items] == ["failed"]
    assert await left(bench) == [0, 0]


async def test_what_a_run_had_taken_and_not_yet_written_goes_with_its_undo(bench: Bench) -> None:
    for run_id in (RUN, OTHER):
        await EpisodicMemory(bench.backends.of_tenant("acme", ADMINISTRATOR)).begin(NewRun("bot", "t", 1, run_id))
    task, embedder = ingesting(bench, ADMINISTRATOR, RUN)
    await embedder.began.wait()
    undo = UndoTaught(bench.backends.of_tenant("acme", ADMINISTRATOR))
    for run_id, messages in ((OTHER, 0), (RUN, 1)):
        said = await undo.dry_run(Selected(run_id=run_id))
        done = await undo.run(Selected(run_id=run_id))
        assert (said.messages, done.messages, done.memories, done.more) == (messages, messages, 0, False)
    embedder.goes_on.set()
    ingestion = await task
    assert (ingestion.status, ingestion.failure) == ("failed", "conflict")
    assert [item.status for item in ingestion.items] == ["failed"]
    assert await left(bench) == [0, 0]
