"""Readiness: what is wrong is named, and what is over is over by itself."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs
from threadpoolctl import threadpool_info

from app.adapters.local.transformer import TransformerEmbedder
from app.bootstrap import build_embedder, build_runtime, build_shards
from app.domain.errors import DatabaseRejected, DatabaseUnavailable, EmbeddingUnavailable, SchemaTooNew, StorageReadOnly
from app.observability.logs import configure_logging
from app.runtime import runtime
from app.runtime.backends import Backends
from tests.support.doubles import FailingDatabase, FailingEmbedder, FailingIndex
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving, settings_for
from tests.support.tables import insert_rows, set_rows


def failing(ports: Backends) -> Backends:
    return replace(
        ports,
        database=FailingDatabase(ports.database),
        index=FailingIndex(ports.index),
        embedder=FailingEmbedder(ports.embedder),
    )


async def parts(service: Service) -> dict[str, str]:
    answer = await service.client.get("/readyz")
    states = {part["name"]: part.get("code", "ok") for part in answer.json()["parts"]}
    ready = set(states.values()) == {"ok"}
    assert answer.status_code == (200 if ready else 503)
    assert answer.json()["status"] == ("ready" if ready else "not_ready")
    return states


async def test_blas_computes_on_the_callers_thread_alone(tmp_path: Path) -> None:
    async with serving(tmp_path):
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}


async def test_a_ready_service_names_its_backends_and_its_embedding_config(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        answer = await service.client.get("/readyz")
        assert answer.json() == {
            "status": "ready",
            "embedding_config": {"provider": "hashing", "model": "ngrams-v1", "dimensions": 384},
            "parts": [
                {"name": "database", "backend": "sqlite", "status": "ok"},
                {"name": "index", "backend": "sqlite-exact", "status": "ok"},
                {"name": "embedder", "backend": "hashing", "status": "ok"},
                {"name": "data", "backend": "lt-memory-hashing-ngrams-v1", "status": "ok"},
            ],
        }


async def test_each_part_that_fails_is_named_alone(tmp_path: Path) -> None:
    async with serving(tmp_path, change=failing) as service:
        ports = service.runtime.backends
        for name, part in {"database": ports.database, "index": ports.index, "embedder": ports.embedder}.items():
            assert isinstance(part, FailingDatabase | FailingIndex | FailingEmbedder)
            part.error = DatabaseUnavailable("It is away.")
            failing_parts = {key for key, state in (await parts(service)).items() if state != "ok"}
            assert failing_parts == ({"database", "data"} if name == "database" else {name})
            assert (await service.client.get("/healthz")).status_code == 200
            part.error = None
        assert set((await parts(service)).values()) == {"ok"}


async def test_a_service_whose_data_is_away_at_the_start_answers_why_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "RETRY_SECONDS", 0.01)

    def away(ports: Backends) -> Backends:
        return replace(ports, database=FailingDatabase(ports.database, error=StorageReadOnly("Read only.")))

    async with serving(tmp_path, change=away) as service:
        assert (await parts(service))["data"] == "storage_read_only"
        answer = await service.post("/store", {"agent_id": "bot", "content": "text"})
        assert_problem(answer, 503, "storage_read_only")
        assert int(answer.headers["retry-after"]) >= 1
        database = service.runtime.backends.database
        assert isinstance(database, FailingDatabase)
        database.error = None
        while (await parts(service))["data"] != "ok":
            pass
        await service.store("text")


async def test_a_failing_embedder_has_its_own_code(tmp_path: Path) -> None:
    async with serving(tmp_path, change=failing) as service:
        embedder = service.runtime.backends.embedder
        assert isinstance(embedder, FailingEmbedder)
        embedder.error = EmbeddingUnavailable("The model is away.")
        body = {"agent_id": "bot", "content": "x"}
        assert_problem(await service.post("/store", body), 503, "embedding_unavailable")
        embedder.error = None
        await service.store("x")
        embedder.error = EmbeddingUnavailable("The model is away.")
        asked = {"agent_id": "bot", "query": "another word"}
        assert_problem(await service.post("/recall", asked), 503, "embedding_unavailable")


async def test_a_defect_is_a_problem_for_the_caller_and_a_traceback_in_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging("json", "info")
    async with serving(tmp_path, change=failing) as service:
        embedder = service.runtime.backends.embedder
        assert isinstance(embedder, FailingEmbedder)
        embedder.error = ZeroDivisionError("what the caller must not see")
        problem = assert_problem(
            await service.post("/store", {"agent_id": "bot", "content": "x"}), 500, "internal_error"
        )
        assert "must not see" not in str(problem)
    assert "ZeroDivisionError" in capsys.readouterr().err


async def test_data_of_a_newer_version_stops_the_start(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await insert_rows(service, "d1_migrations", {"name": "9999_future.sql"})
    later = build_runtime(settings_for(tmp_path))
    with pytest.raises(SchemaTooNew, match=r"9999_future\.sql"):
        await later.start()
    await later.close()


async def test_a_process_ends_in_order_where_the_database_refuses_what_it_would_write_then(tmp_path: Path) -> None:
    async with serving(tmp_path, change=failing) as service:
        database = service.runtime.backends.database
        assert isinstance(database, FailingDatabase)
        await service.store("a fox")
        database.error = DatabaseRejected("A statement does not fit this schema.")
        with capture_logs() as logs:
            await service.shards.close()
    assert "leases_left" in [log["event"] for log in logs]


async def test_a_memory_left_in_the_outbox_is_in_the_index_after_the_next_start(tmp_path: Path) -> None:
    async with serving(tmp_path, change=failing) as service:
        index = service.runtime.backends.index
        assert isinstance(index, FailingIndex)
        index.error = DatabaseUnavailable("The index is away.")
        await service.store("left behind")
        await set_rows(service, "outbox", {"due_at": 0})
    async with serving(tmp_path, indexer_seconds=0.01) as service:
        while (await service.runtime.outbox_status()).undelivered:
            await asyncio.sleep(0.01)
        assert await service.contents("left behind") == ["left behind"]


def test_without_weights_hashing_takes_over_with_one_loud_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.bootstrap.models.packaged_model_dir", lambda: None)
    with structlog.testing.capture_logs() as logs:
        embedder = build_embedder(settings_for(tmp_path, embedder="local"))
    assert embedder.config.provider == "hashing"
    assert [(log["log_level"], log["event"]) for log in logs] == [("warning", "no_model_weights")]


async def test_the_packaged_weights_are_the_default(tmp_path: Path) -> None:
    embedder = build_embedder(settings_for(tmp_path, embedder="local"))
    assert isinstance(embedder, TransformerEmbedder)
    assert (embedder.config.provider, embedder.config.model) == ("local", "all-minilm-l6-v2")
    await embedder.close()


async def test_a_workers_gauges_are_refreshed_again_after_one_could_not_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.runtime.shards.REFRESH_SECONDS", 0.01)
    shards, asked, again = build_shards(settings_for(tmp_path)), list[int](), asyncio.Event()

    def calls_left() -> float:
        asked.append(1)
        if len(asked) == 2:  # the first one is asked for when the gauge is made
            raise OSError("stale file handle")
        if len(asked) > 2:
            again.set()
        return 5.0

    shards.main.metrics.of_workers = True
    shards.main.metrics.budgets.cloudflare(calls_left)
    try:
        with capture_logs() as logs:
            await shards.start()
            async with asyncio.timeout(30):
                await again.wait()
    finally:
        await shards.close()
    assert "background_failed" in {line["event"] for line in logs}
