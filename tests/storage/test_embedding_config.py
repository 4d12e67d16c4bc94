"""Vectors of two embedding configs never meet: a mismatch is an error that names both, never an empty answer."""

import re
from dataclasses import replace
from pathlib import Path

from app.domain.embedding import EmbeddingConfig
from app.indexing.embedding_registry import EmbeddingRegistry
from app.runtime.backends import Backends
from tests.support.doubles import FailingEmbedder
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving

OTHER = EmbeddingConfig("local", "another-model", 384)


class OtherEmbedder(FailingEmbedder):
    """The same vectors under another name."""

    @property
    def config(self) -> EmbeddingConfig:
        return OTHER


def other(ports: Backends) -> Backends:
    """A process that knows its own model and no other."""
    return replace(ports, embedder=OtherEmbedder(ports.embedder), registry=EmbeddingRegistry())


async def assert_mismatch(service: Service) -> None:
    for path, field in (("/store", "content"), ("/recall", "query")):
        answer = await service.post(path, {"agent_id": "bot", field: "text"})
        problem = assert_problem(answer, 503, "embedding_config_mismatch")
        assert "hashing/ngrams-v1 (384 dimensions)" in problem["detail"]
        assert "local/another-model (384 dimensions)" in problem["detail"]


async def test_data_of_another_config_is_neither_searched_nor_added_to(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.store("text")
    async with serving(tmp_path, change=other) as service:
        answer = await service.client.get("/readyz")
        assert answer.status_code == 503
        (failing,) = [part for part in answer.json()["parts"] if part["status"] == "failing"]
        assert failing["code"] == "embedding_config_mismatch"
        assert (await service.client.get("/healthz")).status_code == 200
        await assert_mismatch(service)
    async with serving(tmp_path) as service:
        assert await service.contents("text") == ["text"]


async def test_a_running_process_stops_writing_when_another_took_the_empty_data_over(tmp_path: Path) -> None:
    async with serving(tmp_path, change=other) as late:
        async with serving(tmp_path) as service:
            await service.store("text")
        await assert_mismatch(late)
    async with serving(tmp_path) as service:
        assert await service.contents("text") == ["text"]


async def test_empty_data_takes_the_config_it_is_started_with(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        assert (await service.client.get("/readyz")).status_code == 200
    async with serving(tmp_path, change=other) as service:
        assert (await service.client.get("/readyz")).status_code == 200
        await service.store("text")
        assert await service.contents("text") == ["text"]


async def test_a_service_on_empty_data_is_left_alone_by_whoever_else_looks_at_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        async with serving(tmp_path, change=other) as passing:
            assert (await passing.client.get("/readyz")).status_code == 200
        assert (await service.client.get("/readyz")).status_code == 200
        await service.store("text")
        assert await service.contents("text") == ["text"]


async def test_a_running_service_says_that_its_data_has_become_anothers(tmp_path: Path) -> None:
    async with serving(tmp_path, change=other) as late, serving(tmp_path) as service:
        await service.store("text")
        (failing,) = [p for p in (await late.client.get("/readyz")).json()["parts"] if p["status"] == "failing"]
        assert failing["code"] == "embedding_config_mismatch"
        (entry,) = await service.recall("text")
        await service.delete(entry["id"])
        assert (await late.client.get("/readyz")).status_code == 200
        await late.store("mine now")
        assert await late.contents("mine now") == ["mine now"]


async def test_each_row_and_the_index_name_carry_the_config(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.store("text")
        assert service.runtime.backends.embedder.config.index_name == "lt-memory-hashing-ngrams-v1"
    assert OTHER.index_name == "lt-memory-local-another-model"
    names = {EmbeddingConfig("local", "@cf/Some Owner/" + "m" * 80 + end, 3).index_name for end in "ab"}
    assert len(names) == 2
    for name in names:
        assert re.fullmatch(r"lt-memory-local-cf-some-owner-m+-[0-9a-f]{8}", name)
        assert len(name) == 64
