"""How many processes serve where nobody says it, and with how many threads each computes."""

import tempfile
from pathlib import Path
from uuid import UUID

import pytest

from app.bootstrap import worker_count
from app.bootstrap.cores import embedding_calls_of_worker, threads_of_worker
from app.settings import Settings

GIB = 1024**3
ACCOUNT = {
    "cloudflare_account_id": "a" * 32,
    "cloudflare_api_token": "t",
    "cloudflare_d1_database_id": str(UUID(int=7)),
}
EDGE = {**ACCOUNT, "cloudflare_api_base_url": "https://edge.example/client/v4"}


@pytest.fixture(autouse=True)
def no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORKERS", raising=False)


@pytest.mark.parametrize(("processors", "count"), [(1, 1), (2, 2), (3, 3), (4, 4), (64, 4)])
def test_there_is_one_for_each_processor_and_there_are_at_most_four(processors: int, count: int) -> None:
    assert worker_count(Settings(), processors, 64 * GIB) == count


@pytest.mark.parametrize(("memory", "count"), [(GIB // 4, 1), (GIB // 2, 1), (3 * GIB // 2, 2), (8 * GIB, 4)])
def test_each_has_room_for_its_caches_and_its_weights(memory: int, count: int) -> None:
    assert worker_count(Settings(embedder="local"), 4, memory) == count


def test_larger_caches_or_weights_make_fewer(tmp_path: Path) -> None:
    assert worker_count(Settings(embedder="hashing"), 4, 2 * GIB) == 4
    assert worker_count(Settings(embedder="hashing", index_cache_bytes=GIB), 4, 2 * GIB) == 1
    with (tmp_path / "model.safetensors").open("wb") as weights:
        weights.truncate(GIB)
    assert worker_count(Settings(embedder="local", local_model_dir=tmp_path), 4, 2 * GIB) == 1


def test_one_serves_where_there_is_no_folder_for_the_figures_that_several_share(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert worker_count(Settings(), 4, 64 * GIB) == 1
    assert worker_count(Settings(workers=2), 4, 64 * GIB) == 2


def test_a_number_is_taken_as_it_is() -> None:
    assert worker_count(Settings(workers=7), 1, GIB // 4) == 7
    assert worker_count(Settings(workers=1), 8, 64 * GIB) == 1


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (ACCOUNT, 1),
        ({**ACCOUNT, "cloudflare_calls_per_window": 0}, 2),
        (EDGE, 2),
        ({**EDGE, "cloudflare_d1_reads": "replicas"}, 1),
    ],
    ids=["its calls are scarce", "a budget that counts none", "behind an edge", "read replicas"],
)
def test_on_cloudflare_it_depends_on_whether_calls_are_scarce(given: dict[str, object], count: int) -> None:
    assert worker_count(Settings(**given), 2, 8 * GIB) == count  # type: ignore[arg-type]


def test_workers_divide_the_processors_for_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.adapters.local.machine.processors", lambda: 4)
    assert [threads_of_worker(Settings(workers=count)) for count in (None, 1, 2, 3, 4, 8)] == [4, 4, 2, 1, 1, 1]


def test_workers_divide_the_calls_of_the_embeddings_api() -> None:
    assert [embedding_calls_of_worker(Settings(workers=count)) for count in (None, 1, 2, 7)] == [3000, 3000, 1500, 428]
    assert embedding_calls_of_worker(Settings(workers=2, openai_calls_per_minute=1)) == 1
    assert embedding_calls_of_worker(Settings(workers=2, openai_calls_per_minute=0)) is None
