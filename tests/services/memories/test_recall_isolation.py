"""A recall's cost, its isolation and its filters, on what the service runs on."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.adapters.local.hashing import HashingEmbedder
from app.domain.author import Author
from app.domain.memory import NewMemory, Scope, Tenant
from app.indexing.jobs.backfill import backfill_segments
from app.ports.database import Statement
from app.ports.vector_index import IndexedVector
from app.storage.memories import MemoryWrite, insert
from tests.support import generation
from tests.support.backends import Backend, running_on
from tests.support.damage import check_words
from tests.support.doubles import FailingDatabase
from tests.support.memories import memory_ids, memory_rows, set_memories
from tests.support.service import Service, serving
from tests.support.tables import Not

pytestmark = pytest.mark.thorough

ALL: dict[str, Any] = {"explain": True, "top_k": 20}
TALK = ["Ann: where is the red fox?", "Bob: in the barn", "Ann: since last week?", "the bear sleeps", "東京の天気"]
QUESTIONS = ["Where did Bob see the red fox last week?", "the bear before the fox", "東京", "what is it?"]


async def answers(service: Service, tenant: str = "acme") -> list[str]:
    """Everything that is answered, to the byte, but for what it was that moment."""
    return [
        (
            await service.post(
                "/recall",
                {"agent_id": "bot", "query": query, "reference_time": "2026-01-01T00:00:00Z", "filter": where, **ALL},
                tenant=tenant,
            )
        ).text
        for query in QUESTIONS
        for where in ({}, {"metadata": {"k": 1}})
    ]


async def test_what_others_store_changes_neither_order_nor_scores(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend) as service:
        for n, content in enumerate(TALK):
            await service.store(content, session_id="s", metadata={"k": n % 2})
        before = await answers(service)
        assert all('"score"' in answer for answer in before[::2])
        for n in range(25):
            content = f"{TALK[n % len(TALK)]} {QUESTIONS[n % len(QUESTIONS)]}" if n % 3 else TALK[n % len(TALK)]
            fields: dict[str, Any] = {"session_id": "s", "metadata": {"k": 1, "n": n}}
            await service.store(content, tenant="other", **fields)
            await service.store(content, agent_id="other", **fields)
        assert await answers(service) == before


async def test_with_all_of_this_a_recall_is_one_embedding_one_query_and_one_call_of_d1(tmp_path: Path) -> None:
    with running_on("cloudflare", filterable={"k": "number"}) as account:
        settings = account.settings(tmp_path)
        double = account.doubles[tmp_path].double
        double.create_index(
            "lt-memory-openai-text-embedding-3-small-256",
            256,
            {"tenant_id": "string", "agent_id": "string", "created_at": "number", "k": "number"},
        )
        settings |= {"embedder": "openai", "embedding_dimensions": 256, "indexer_seconds": 30}
        async with serving(tmp_path, **settings) as service:
            for n, content in enumerate(TALK):
                await service.store(content, session_id="s", metadata={"k": n % 2, "m": 1})
            body: dict[str, Any] = {
                "agent_id": "bot",
                "query": QUESTIONS[0],
                "collapse": True,
                "max_tokens": 50,
                "min_score": 0.01,
                **ALL,
            }
            while (await service.runtime.outbox_status()).lease_holder is None:  # its next round is 30 seconds away
                await asyncio.sleep(0.01)
            for where in ({}, {"metadata": {"k": 1}}, {"metadata": {"m": 1}}):
                body["query"] = f"{body['query']}?"
                before = double.calls()
                answer = (await service.post("/recall", body | {"filter": where})).json()
                after = double.calls()
                made = {name: n - before.get(name, 0) for name, n in after.items() if n != before.get(name, 0)}
                assert made == {"openai.embeddings": 1, "vectorize.query": 1, "d1.query": 1}, (where, made)
                assert answer["entries"]
                assert "degraded" not in answer


async def test_a_recall_reads_the_embedded_database_once(tmp_path: Path) -> None:
    databases: list[FailingDatabase] = []

    def watched(ports: Any) -> Any:
        databases.append(FailingDatabase(ports.database))
        return replace(ports, database=databases[0])

    async with serving(tmp_path, change=watched, indexer_seconds=30) as service:
        for content in TALK:
            await service.store(content, session_id="s", metadata={"k": 1})
        databases[0].runs.clear()
        for where in ({}, {"metadata": {"k": 1}}, {"metadata": {"k": 2}}):
            await service.recall(QUESTIONS[0], filter=where, collapse=True, **ALL)
        await service.recall(QUESTIONS[0], agent_id="nobody")
        assert len([run for run in databases[0].runs if "memory_words" in "".join(each.sql for each in run)]) == 4


CLOSER = 10_000 if generation.LONG else 1_500
NEAR = "red fox"
DECLARED = {"kind": "string"}


async def many(service: Service, scope: Scope, vector: Any, contents: Sequence[str], kind: str, first: int) -> None:
    """Put memories of one vector straight into the database and the index, as if long ago."""
    config = service.runtime.config
    for start in range(0, len(contents), 2_500):
        ids = [f"01K{n:023d}" for n in range(first + start, first + start + 2_500)]
        memories = [
            NewMemory(content, {"kind": kind, "free": kind}).of(scope, id_, int(id_[3:]))
            for content, id_ in zip(contents[start : start + 2_500], ids, strict=False)
        ]
        await service.runtime.backends.database.run(
            [insert(Tenant(scope.tenant_id), [MemoryWrite(memory, {}, {}) for memory in memories], config, Author(), 0)]
        )
        vectors = [
            IndexedVector(scope, memory.id, vector, memory.created_at, 1, memory.metadata) for memory in memories
        ]
        await service.runtime.backends.index.upsert(vectors)


@pytest.fixture(params=["embedded", "cloudflare"])
async def crowded(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Service]:
    """A service where very many memories are nearer to the question, in words and in meaning, than thirty others."""
    with running_on(request.param, filterable=DECLARED) as backend:
        async with serving(tmp_path, on=backend) as service:
            await service.store("so that there is data", agent_id="other")
            (near,) = (await HashingEmbedder().embed([NEAR], "query")).vectors
            far = np.roll(near, 1)
            await many(service, Scope("acme", "bot"), near, [f"{NEAR} {n}" for n in range(CLOSER)], "near", 1000)
            await many(service, Scope("acme", "bot"), far, [f"something else {n}" for n in range(30)], "far", 900)
            yield service


async def test_a_filter_that_removes_very_many_nearer_memories_leaves_as_many_as_are_asked_for(
    crowded: Service,
) -> None:
    for key in ("kind", "free"):
        for top_k in (1, 20):
            body = {"agent_id": "bot", "query": NEAR, "top_k": top_k, "filter": {"metadata": {key: "far"}}}
            answer = (await crowded.post("/recall", body)).json()
            assert len(answer["entries"]) == top_k, (key, top_k)
            assert {entry["metadata"]["kind"] for entry in answer["entries"]} == {"far"}
            filled = key == "free" and crowded.runtime.backends.index.filterable is not None
            assert answer.get("degraded") == (["filter_beyond_index"] if filled else None), (key, top_k)
            by_session = (await crowded.post("/recall", body | {"group_by": "session"})).json()
            assert [group["entries"] for group in by_session["groups"]] == [
                [one["id"]] for one in by_session["entries"]
            ]
            assert len(by_session["groups"]) == top_k, (key, top_k)
            assert by_session.get("degraded") == answer.get("degraded"), (key, top_k)
    for where in ({"created_before": "1970-01-01T00:00:00.930Z"}, {"metadata": {"free": "far"}}):
        assert len(await crowded.recall(NEAR, top_k=20, filter=where, collapse=True)) == 20
    assert {entry["metadata"]["kind"] for entry in await crowded.recall(NEAR)} == {"near"}


async def left(service: Service) -> int:
    return len(await memory_ids(service, segments=None))


async def test_memories_of_before_there_were_segments_are_found_once_the_service_is_prepared(
    tmp_path: Path, backend: Backend
) -> None:
    async with serving(tmp_path, on=backend) as service:
        for content in ("東京都の天気は晴れ", "قرأ الكِتَابَ", "plain", "\uff36\uff49\uff4f\uff4c\uff49\uff4e"):
            await service.store(content)
            await service.store(content, tenant="other")
        whole = await memory_rows(service, "id", "segments", by="id")
        await set_memories(service, {"segments": None}, content=Not("plain"))
        assert await left(service) == 6
        query = {"agent_id": "bot", "query": "京都 كتاب violin", "explain": True, "top_k": 20}
        findings = (await service.post("/recall", query)).json()["entries"]
        assert not [each for entry in findings for each in entry.get("findings", []) if each["channel"] == "lexical"]
    async with serving(tmp_path, on=backend) as service:
        assert await left(service) == 0
        assert await memory_rows(service, "id", "segments", by="id") == whole
        entries = (await service.post("/recall", query)).json()["entries"]
        lexical = [e["content"] for e in entries if "lexical" in [each["channel"] for each in e.get("findings", [])]]
        assert len(lexical) == 3
        assert "plain" not in lexical
        await check_words(service)


async def test_making_segments_goes_on_from_where_it_stopped_and_does_nothing_twice(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await many(service, Scope("acme", "bot"), np.ones(384, np.float32), [f"東京{n}" for n in range(2_300)], "k", 0)
        inner = service.runtime.backends.database
        await set_memories(service, {"segments": None}, content=Not("plain"))
        database = FailingDatabase(inner)

        async def stopping(statements: Sequence[Statement]) -> Any:
            if len(database.runs) == 2:
                raise RuntimeError("the process ends here")
            return await FailingDatabase.run(database, statements)

        database_that_stops: Any = FailingDatabase(inner)
        database_that_stops.run = stopping
        with pytest.raises(RuntimeError):
            await backfill_segments(database_that_stops)
        remaining = await left(service)
        assert isinstance(remaining, int)
        assert 0 < remaining < 2_300
        await backfill_segments(inner)
        assert await left(service) == 0
        again = FailingDatabase(inner)
        await backfill_segments(again)
        assert [[each.writes for each in run] for run in again.runs] == [[False]]
        assert len(await service.recall("東京1234 京都", top_k=20)) == 20
