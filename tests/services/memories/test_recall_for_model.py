"""Rows that a program keeps for itself never reach a model, and take no memory's place; all others still find them."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.memory import NewMemory
from app.domain.query import Query
from app.services.transfer.record import Record
from app.storage import outbox
from tests.services.transfer.corpus import file_of
from tests.support.backends import Backend
from tests.support.doubles import FailingDatabase
from tests.support.gateways import bench_on
from tests.support.service import Service, serving

QUERY = "count of the hens"
ROW = {"store.key": "hens"}
MEMORY = "Ann feeds her birds at dawn"


@pytest.fixture
async def service(tmp_path: Path, backend: Backend) -> AsyncIterator[Service]:
    async with serving(tmp_path, on=backend) as service:
        yield service


async def keep_rows(service: Service, many: int) -> None:
    """Let a program keep rows that say what the query does."""
    rows = [
        Record(
            agent_id="bot",
            content=f"count of the hens: {n}",
            metadata=ROW,
            id=f"01K{n:023d}",
            created_at=1_700_000_000_000 + n,
        )
        for n in range(many)
    ]
    headers = service.credential(admin=True) | {"Content-Type": "application/x-ndjson"}
    answer = await service.client.post("/import", content=file_of(rows), headers=headers)
    assert json.loads(answer.content.splitlines()[-1])["imported"] == many, answer.text


async def recalled(service: Service, **arguments: Any) -> dict[str, Any]:
    """Answer as the tool does."""
    answer = await service.call("recall_memory", {"query": QUERY} | arguments)
    found: dict[str, Any] = answer.json()["result"]["structuredContent"]
    return found


def contents(answer: dict[str, Any]) -> list[str]:
    return [entry["content"] for entry in answer["entries"]]


async def test_a_model_recalls_its_memory_among_sixty_rows_that_match_better(service: Service) -> None:
    await keep_rows(service, 60)
    await service.store(MEMORY)
    assert MEMORY not in await service.contents(QUERY, top_k=20)
    answer = await recalled(service)
    assert contents(answer) == [MEMORY]
    assert "degraded" not in answer
    assert contents(await recalled(service, filter={"metadata": {"store.key": "hens"}})) == []


async def test_more_rows_than_the_index_gives_keep_no_memory_out(tmp_path: Path, backend: Backend) -> None:
    near = "recounted henhouses of courtyards, uncounted"
    worded = [f"Ann sold some hens, and {n} weeks later she moved to {'a distant island ' * 9}" for n in range(5)]
    async with bench_on(tmp_path, backend) as bench:
        for n in range(130):
            await bench.gateway.store("bot", NewMemory(f"count of the hens in the yard: {n}", ROW))
        for content in (near, *worded):
            await bench.gateway.store("bot", NewMemory(content))
        await bench.quiet()
        assert await bench.queued() == {}
        query = Query("count of the hens in the yard", for_model=True)
        answer = await bench.gateway.recall("bot", query)
        assert len(answer.entries) == 5
        assert {entry.content for entry in answer.entries} <= {near, *worded}
        if backend.name == "embedded":
            assert answer.degraded == []
        else:  # Vectorize gives 100 hits: what lies behind them was not compared, and the answer says so
            assert answer.degraded == ["filter_beyond_index"]
        everything = await bench.gateway.recall("bot", replace(query, top_k=20))
        similar = {entry.content: entry.similarity for entry in everything.entries}
        assert similar.keys() == {near, *worded}
        assert backend.name != "embedded" or similar[near] is not None


async def test_a_recall_by_http_finds_a_program_s_rows_unless_a_model_reads_it(service: Service) -> None:
    await keep_rows(service, 3)
    await service.store(MEMORY, metadata={"store": "in Lund"})
    assert len(await service.contents(QUERY)) == 4
    assert await service.contents(QUERY, for_model=False, filter={"metadata": ROW}) != []
    assert await service.contents(QUERY, for_model=True) == [MEMORY]
    assert await service.contents(QUERY, for_model=True, filter={"metadata": ROW}) == []


async def test_a_row_in_a_session_gives_and_takes_nothing_from_the_memories_beside_it(service: Service) -> None:
    for n, content in enumerate(["Ann asked who feeds the hens", "count of the hens: 7", "Bob does"]):
        await service.store(
            content, session_id="s", metadata=ROW if n == 1 else {}, occurred_at=f"2026-01-01T00:00:0{n}Z"
        )
    assert contents(await recalled(service)) == ["Ann asked who feeds the hens", "Bob does"]


async def test_rows_that_wait_for_the_index_take_no_place_of_memories_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MAX_PENDING", 3)
    async with bench_on(tmp_path) as bench:
        await bench.gateway.store("bot", NewMemory(MEMORY))
        for n in range(4):
            await bench.gateway.store("bot", NewMemory(f"count of the hens: {n}", ROW))
        assert (await bench.gateway.recall("bot", Query(QUERY))).degraded == ["pending_bound"]
        answer = await bench.gateway.recall("bot", Query(QUERY, for_model=True))
        assert ([entry.content for entry in answer.entries], answer.degraded) == ([MEMORY], [])


async def test_a_model_s_recall_costs_one_read_of_the_database_where_rows_take_no_places(tmp_path: Path) -> None:
    databases: list[FailingDatabase] = []

    def watched(ports: Any) -> Any:
        databases.append(FailingDatabase(ports.database))
        return replace(ports, database=databases[0])

    async with serving(tmp_path, change=watched, indexer_seconds=30) as service:
        await keep_rows(service, 60)
        for content in (MEMORY, "Bob has a dog"):
            await service.store(content)
        databases[0].runs.clear()
        await recalled(service)
        runs = [run for run in databases[0].runs if "memory_words" in "".join(each.sql for each in run)]
        assert len(runs) == 1
