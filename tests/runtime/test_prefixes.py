"""Prefixes and the data: vectors with another document prefix are never compared, and older data is served on."""

from pathlib import Path
from typing import Any

import pytest

from app.bootstrap import build_embedder, build_runtime
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import EmbeddingConfigMismatch
from app.indexing.rate_limiter import RateLimiter
from app.runtime.maintenance import Maintenance
from tests.adapters.local.tiny_model import write_model
from tests.support.service import Service, serving, settings_for

BARE = EmbeddingConfig("hashing", "ngrams-v1", 384)
PASSAGE = BARE.with_document_prefix("passage: ")
PREFIXES: dict[str, Any] = {"embedding_query_prefix": "query: ", "embedding_document_prefix": "passage: "}
TEXT = "the blue key is in room seven"


async def similarity(service: Service) -> float:
    """How near the one memory is to its own words: 1 where both were embedded bare."""
    (entry,) = await service.recall(TEXT)
    assert entry["content"] == TEXT
    return float(entry["similarity"])


async def notice(service: Service) -> str:
    """What ``/readyz`` says of the data, or nothing."""
    (data,) = [part for part in await service.runtime.checks.parts() if part.name == "data"]
    assert data.error is None
    return data.notice or ""


async def move(service: Service, to: EmbeddingConfig) -> None:
    """What ``memory-gateway reembed start`` and ``switch`` do."""
    prepared = Maintenance(service.runtime, RateLimiter(1e9))
    await prepared.reembedding.begin(to)
    state = await prepared.reembedding.state()
    assert state is not None
    await prepared.comparison(state.other, repair=True, report=lambda _: None).run()
    await prepared.reembedding.copied(state.left_out)
    await prepared.reembedding.switch(to, force=True)


async def test_data_without_a_prefix_is_served_so_until_it_is_moved(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.store(TEXT)
        bare = await similarity(service)
        assert bare == pytest.approx(1, abs=1e-5)
    async with serving(tmp_path, **PREFIXES) as service:
        assert service.runtime.config == BARE
        assert await similarity(service) == pytest.approx(bare)
        assert str(PASSAGE) in await notice(service)
        assert "memory-gateway reembed start" in await notice(service)
        await move(service, PASSAGE)
        assert await similarity(service) < bare - 0.05
    async with serving(tmp_path, **PREFIXES) as service:
        assert (service.runtime.config, await notice(service)) == (PASSAGE, "")
        assert await similarity(service) < bare - 0.05


async def test_a_query_prefix_changes_nothing_that_is_stored(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.store(TEXT)
    async with serving(tmp_path, embedding_query_prefix="query: ") as service:
        assert (service.runtime.config, await notice(service)) == (BARE, "")
        assert await similarity(service) < 0.95


async def test_data_with_a_prefix_that_the_settings_do_not_name_is_an_error_and_never_searched(tmp_path: Path) -> None:
    async with serving(tmp_path, **PREFIXES) as service:
        await service.store(TEXT)
    for other in ("off", "passage:"):
        runtime = build_runtime(settings_for(tmp_path, embedding_document_prefix=other))
        with pytest.raises(EmbeddingConfigMismatch, match=r"ngrams-v1#[0-9a-f]{8}.*ngrams-v1"):
            await runtime.prepare()
        await runtime.close()


def e5(tmp_path: Path, **overrides: Any) -> dict[str, Any]:
    """Settings of a local model that the list knows by the name of its directory."""
    directory = tmp_path / "multilingual-e5-small"
    if not directory.exists():
        write_model(directory)
    return {"embedder": "local", "local_model_dir": directory} | overrides


async def test_a_known_model_whose_data_is_older_than_the_list_is_served_and_moved(tmp_path: Path) -> None:
    off = e5(tmp_path, embedding_document_prefix="off")
    async with serving(tmp_path, **off) as service:
        await service.store("red green")
        bare = service.runtime.config
        assert "#" not in bare.model
    async with serving(tmp_path, **e5(tmp_path)) as service:
        assert service.runtime.config == bare
        (entry,) = await service.recall("red green")
        assert entry["similarity"] == pytest.approx(1, abs=1e-5)
        await move(service, bare.with_document_prefix("passage: "))
    async with serving(tmp_path, **off) as service:
        assert service.runtime.config == bare.with_document_prefix("passage: ")
        assert str(bare) in await notice(service)
        assert await service.contents("red green") == ["red green"]


async def test_data_of_a_known_model_is_served_while_the_settings_name_another(tmp_path: Path) -> None:
    async with serving(tmp_path, **e5(tmp_path)) as service:
        await service.store("red green")
        stored = service.runtime.config
        (entry,) = await service.recall("red")
    async with serving(tmp_path, **e5(tmp_path, embedder="hashing", embedding_query_prefix="Q: ")) as service:
        assert service.runtime.config == stored
        assert (await service.recall("red"))[0]["similarity"] == pytest.approx(entry["similarity"])


async def test_the_list_and_the_settings_decide_what_an_embedder_is_wrapped_with(tmp_path: Path) -> None:
    known = build_embedder(settings_for(tmp_path, **e5(tmp_path)))
    own = build_embedder(settings_for(tmp_path, **e5(tmp_path, embedding_document_prefix="Text: ")))
    plain = known.config.without_document_prefix
    assert known.config == plain.with_document_prefix("passage: ")
    assert own.config == plain.with_document_prefix("Text: ")
    for embedder in (known, own):
        await embedder.close()
