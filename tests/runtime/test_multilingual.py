"""The multilingual model: what data is served with it, and how data moves to it."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.local.multilingual.conversion import convert
from app.adapters.local.multilingual.installed import MULTILINGUAL_MODEL
from app.bootstrap import build_embedder, build_runtime
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import ConfigurationError, EmbeddingConfigMismatch
from tests.adapters.local.multilingual.packed import packed_model
from tests.runtime.test_prefixes import BARE, move, notice
from tests.services.scripted_reader import ScriptedReader
from tests.support.service import serving, settings_for

CONFIG = EmbeddingConfig("local", MULTILINGUAL_MODEL, 384).with_document_prefix("passage: ")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made-up model of its form, in the place of the converted one."""
    data, _ = packed_model()
    (tmp_path / "model.bin").write_bytes(data)
    folder = convert(tmp_path / "model.bin", tmp_path / "model", sha256=hashlib.sha256(data).hexdigest())
    for module in ("app.bootstrap.models", "app.adapters.local.transformer"):
        monkeypatch.setattr(f"{module}.multilingual_model_dir", lambda: folder)
    return folder


def test_a_model_that_is_not_installed_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.bootstrap.models.multilingual_model_dir", lambda: tmp_path / "none")
    with pytest.raises(ConfigurationError, match="not installed: make run LANGUAGES=multilingual"):
        build_embedder(settings_for(tmp_path, embedder="local-multilingual"))


@pytest.mark.usefixtures("installed")
async def test_memories_and_queries_are_embedded_with_its_prefixes(tmp_path: Path) -> None:
    async with serving(tmp_path / "data", embedder="local-multilingual") as service:
        assert service.runtime.config == CONFIG
        await service.store("red green")
        assert await service.contents("red green") == ["red green"]


@pytest.mark.usefixtures("installed")
async def test_data_of_another_model_is_served_so_until_it_is_moved(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as service:
        await service.store("red green")
        assert service.runtime.config == BARE
    async with serving(tmp_path / "data", embedder="local-multilingual") as service:
        assert service.runtime.config == BARE
        assert str(CONFIG) in await notice(service)
        assert "memory-gateway reembed start" in await notice(service)
        assert await service.contents("red green") == ["red green"]
        await move(service, CONFIG)
        assert await service.contents("red green") == ["red green"]
    async with serving(tmp_path / "data", embedder="local-multilingual") as service:
        assert (service.runtime.config, await notice(service)) == (CONFIG, "")


@pytest.mark.usefixtures("installed")
async def test_data_of_this_model_is_served_while_the_settings_name_another(tmp_path: Path) -> None:
    async with serving(tmp_path / "data", embedder="local-multilingual") as service:
        await service.store("red green")
    async with serving(tmp_path / "data") as service:
        assert service.runtime.config == CONFIG
        assert "reembed start" in await notice(service)
        assert await service.contents("red green") == ["red green"]


async def test_data_of_this_model_is_an_error_where_it_is_not_installed(tmp_path: Path, installed: Path) -> None:
    async with serving(tmp_path / "data", embedder="local-multilingual") as service:
        await service.store("red green")
    await asyncio.to_thread(installed.rename, tmp_path / "elsewhere")
    runtime = build_runtime(settings_for(tmp_path / "data"))
    with pytest.raises(EmbeddingConfigMismatch, match=MULTILINGUAL_MODEL):
        await runtime.prepare()
    await runtime.close()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("embedder", "read"), [("local-multilingual", ["n\u00e5got r\u00f6tt"]), ("hashing", None)])
async def test_what_a_short_question_seems_not_to_be_the_language_of_is_read_with_a_model_of_one_language_alone(
    tmp_path: Path, embedder: str, read: list[str] | None
) -> None:
    memories = ["the red is not in the green", "n\u00e5got r\u00f6tt"]
    reader = ScriptedReader()
    async with serving(
        tmp_path / "data", change=lambda backends: replace(backends, reader=reader), embedder=embedder
    ) as service:
        for memory in memories:
            await service.store(memory)
        entries = await service.recall("en r\u00f6d", explain=True)
    found = {
        entry["content"]
        for entry in entries
        if any(finding["channel"] == "reader" and finding["raw"] is not None for finding in entry["findings"])
    }
    assert found == set(read or memories)
