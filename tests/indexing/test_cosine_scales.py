"""Where the cosines of an embedding config lie: measured once, kept with the config, the same for every process."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from app.adapters.local.hashing import HashingEmbedder
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.embedding import USUAL_SCALE, CosineScale, EmbeddingConfig, Vector
from app.domain.errors import EmbeddingUnavailable
from app.indexing.cosine_scales import PROBES, CosineScales, measure
from app.ports.embedder import Embeddings, Purpose
from app.storage.migrations.runner import migrate

DIMENSIONS = 64


class Scripted:
    """Embeds each probe's question and answer near each other, on top of what all vectors have in common."""

    def __init__(self, *, common: float = 0.0, error: Exception | None = None) -> None:
        self.common = common
        self.error = error
        self.calls = 0

    @property
    def config(self) -> EmbeddingConfig:
        return EmbeddingConfig("scripted", "model", DIMENSIONS)

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        del tenant_id
        self.calls += 1
        if self.error is not None:
            raise self.error
        return Embeddings([self._vector(text, purpose) for text in texts])

    async def ping(self) -> None:
        return

    def _vector(self, text: str, purpose: Purpose) -> Vector:
        number = next(n for n, pair in enumerate(PROBES) if text in pair)
        vector = np.zeros(DIMENSIONS, np.float32)
        vector[0] = self.common
        vector[1 + number] = 1.0
        vector[1 + len(PROBES) + number] = 0.5 if purpose == "query" else -0.5
        return vector / np.float32(np.linalg.norm(vector))


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    file = SqliteFile(tmp_path / "memory.sqlite3")
    made = SqliteDatabase(file)
    await migrate(made)
    yield made
    await file.close()


async def test_a_question_is_nearer_to_its_own_answer_than_to_those_of_others() -> None:
    scale = await measure(Scripted())
    assert scale.related == pytest.approx(0.6)
    assert (scale.unrelated, scale.spread) == pytest.approx((0, 0), abs=1e-6)


async def test_models_that_differ_in_the_level_of_their_cosines_alone_read_the_same_on_their_scales() -> None:
    low, high = await measure(Scripted()), await measure(Scripted(common=3.0))
    assert high.unrelated > 0.8 > low.related
    for scale in (low, high):
        assert scale.nearness(scale.unrelated) == pytest.approx(0)
        assert scale.nearness(scale.related) == pytest.approx(1)


async def test_an_embedder_without_meaning_hardly_tells_answers_from_other_texts() -> None:
    scale = await measure(HashingEmbedder())
    assert scale.nearness(scale.related) < 0.3


async def found(database: SqliteDatabase, embedder: Scripted, **prefix: str) -> CosineScale:
    """Return the scale as a process that has just begun finds it."""
    scales = CosineScales(database, **prefix)
    await scales.find(embedder.config, embedder)
    return scales.of(embedder.config, embedder)


async def test_a_config_is_measured_once_whichever_process_asks(database: SqliteDatabase) -> None:
    embedder = Scripted()
    first = await found(database, embedder)
    assert await found(database, embedder) == first == await measure(Scripted())
    assert embedder.calls == 2  # the questions and the answers


async def test_with_another_prefix_of_queries_a_config_is_measured_again(database: SqliteDatabase) -> None:
    embedder, prefixed = Scripted(), Scripted(common=3.0)
    first = await found(database, embedder)
    assert await found(database, prefixed, query_prefix="query: ") == await measure(prefixed)
    assert await found(database, Scripted(error=EmbeddingUnavailable("away"))) == first


async def test_nobody_waits_for_a_measurement_and_what_it_finds_holds_from_then_on(database: SqliteDatabase) -> None:
    embedder = Scripted(common=3.0)
    scales = CosineScales(database)
    assert scales.of(embedder.config, embedder) == USUAL_SCALE
    while scales.of(embedder.config, embedder) == USUAL_SCALE:
        await asyncio.sleep(0.01)
    assert scales.of(embedder.config, embedder) == await measure(Scripted(common=3.0))
    await scales.close()


async def test_a_failed_measurement_is_not_repeated_at_once_and_nothing_is_kept(database: SqliteDatabase) -> None:
    embedder = Scripted(error=EmbeddingUnavailable("away"))
    scales = CosineScales(database)
    await scales.find(embedder.config, embedder)
    assert [scales.of(embedder.config, embedder) for _ in range(5)] == [USUAL_SCALE] * 5
    assert embedder.calls == 1
    assert await found(database, Scripted()) == await measure(Scripted())


def test_each_probe_is_another_question_with_another_answer() -> None:
    texts = [text for pair in PROBES for text in pair]
    assert len(set(texts)) == len(texts) == 2 * len(PROBES)
