"""A store named by a key is done once; the same content is one memory."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain import limits
from app.domain.errors import IdempotencyKeyReused, InvalidRequest, Unavailable
from app.domain.json_types import Json
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query
from tests.support.backends import Backend, running_on
from tests.support.gateways import Bench, bench_on
from tests.support.memories import memory_rows
from tests.support.tables import delete_rows, insert_rows, rows_of

CHANGES: list[tuple[dict[str, Json], bool]] = [
    ({"kind": "a", "note": 2}, False),
    ({"kind": "b", "note": 2}, True),
    ({}, True),
]
"""Metadata, one after the other, and whether an index that filters on ``kind`` has to be told."""


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


async def test_the_same_request_with_the_same_key_is_answered_the_same_and_changes_nothing(bench: Bench) -> None:
    memory = NewMemory("text", {"a": 1, "b": 2})
    first = await bench.gateway.store("bot", memory, idempotency_key="once")
    before = await rows_of(bench, "outbox"), await rows_of(bench, "audit")
    reordered = NewMemory("text", {"b": 2, "a": 1})
    assert await bench.gateway.store("bot", reordered, idempotency_key="once") == first
    assert (await rows_of(bench, "outbox"), await rows_of(bench, "audit")) == before


async def test_a_repeated_request_does_not_bring_back_what_was_deleted_meanwhile(bench: Bench) -> None:
    memory_id = await bench.gateway.store("bot", NewMemory("text"), idempotency_key="once")
    await bench.gateway.delete("bot", memory_id)
    assert await bench.gateway.store("bot", NewMemory("text"), idempotency_key="once") == memory_id
    assert await bench.contents("text") == []


@pytest.mark.parametrize(
    "other",
    [NewMemory("other"), NewMemory("text", {"k": 1}), NewMemory("text", {}, "s"), NewMemory("text", {}, None, 1)],
)
async def test_the_same_key_with_another_request_is_refused_and_nothing_is_written(
    bench: Bench, other: NewMemory
) -> None:
    await bench.gateway.store("bot", NewMemory("text"), idempotency_key="once")
    with pytest.raises(IdempotencyKeyReused):
        await bench.gateway.store("bot", other, idempotency_key="once")
    assert await bench.memories() == 1


async def test_a_key_belongs_to_one_agent_of_one_tenant(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"), idempotency_key="once")
    await bench.gateway.store("other", NewMemory("of another agent"), idempotency_key="once")
    await bench.tenant("other").store("bot", NewMemory("of another tenant"), idempotency_key="once")
    assert await bench.memories() == 3


async def test_of_many_at_once_with_one_key_one_is_done(bench: Bench) -> None:
    stores = [bench.gateway.store("bot", NewMemory(f"text {n}"), idempotency_key="once") for n in range(8)]
    results = await asyncio.gather(*stores, return_exceptions=True)
    assert sum(isinstance(result, IdempotencyKeyReused) for result in results) == 7
    assert await bench.memories() == 1


async def test_a_key_is_forgotten_after_a_day(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"), idempotency_key="once")
    bench.later(86_400)
    await bench.gateway.store("bot", NewMemory("other"), idempotency_key="once")
    assert await bench.memories() == 2
    bench.later(86_400)
    await bench.indexer.round()
    assert await rows_of(bench, "idempotency") == []


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256, "x" * 1_000_000])
async def test_a_key_of_another_form_is_refused_by_name(bench: Bench, key: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await bench.gateway.store("bot", NewMemory("text"), idempotency_key=key)
    assert [error.field for error in caught.value.errors] == ["Idempotency-Key"]
    assert len(caught.value.detail) < 200
    assert await bench.memories() == 0


async def test_the_same_content_again_is_one_memory_with_the_latest_metadata(bench: Bench) -> None:
    first = await bench.gateway.store("bot", NewMemory("text", {"version": 1}))
    ((before,),) = [await memory_rows(bench, "created_at")]
    assert await bench.gateway.store("bot", NewMemory("text", {"version": 2})) == first
    (entry,) = (await bench.gateway.recall("bot", Query("text"))).entries
    assert (entry.id, entry.metadata, entry.created_at) == (first, {"version": 2}, before["created_at"])
    for other in (NewMemory("text", {}, "session"), NewMemory("text", {}, None, 5)):
        assert await bench.gateway.store("bot", other) != first


async def test_a_vector_the_index_shows_is_sent_again_only_where_the_index_filters_on_what_changed(
    bench: Bench,
) -> None:
    await bench.gateway.store("bot", NewMemory("text", {"version": 1}))
    await bench.quiet()
    assert await bench.queued() == {}
    bench.database.journal.clear()
    await bench.gateway.store("bot", NewMemory("text", {"version": 1}))
    assert bench.database.journal == ["database.run"]
    await bench.gateway.store("bot", NewMemory("text", {"version": 2}))
    filters_on_it = bench.index.filterable is None
    assert ("index.upsert" in bench.database.journal) is filters_on_it
    where = Filter(metadata={"version": 2})
    assert len((await bench.gateway.recall("bot", Query("text", where=where))).entries) == 1


async def test_a_vector_that_was_never_delivered_is_queued_anew(bench: Bench) -> None:
    bench.index.error = Unavailable("The index is away.")
    await bench.gateway.store("bot", NewMemory("text"))
    (before,) = await rows_of(bench, "outbox", "revision")
    bench.index.error = None
    await bench.gateway.store("bot", NewMemory("text"))
    (after,) = await rows_of(bench, "outbox", "revision")
    assert int(after["revision"] or 0) > int(before["revision"] or 0)


async def test_a_declared_key_that_changes_sends_the_vector_again(tmp_path: Path) -> None:
    with running_on("cloudflare", filterable={"kind": "string"}) as account:
        async with bench_on(tmp_path, account) as bench:
            await bench.gateway.store("bot", NewMemory("text", {"kind": "a", "note": 1}))
            await bench.quiet()
            for metadata, sent in CHANGES:
                await bench.quiet()
                bench.database.journal.clear()
                await bench.gateway.store("bot", NewMemory("text", metadata))
                await bench.delivered()
                assert ("index.upsert" in bench.database.journal) is sent, metadata


async def test_an_agent_keeps_so_many_keys_and_the_oldest_of_more_are_forgotten(bench: Bench) -> None:
    async def keys(agent: str) -> list[object]:
        rows = await rows_of(bench, "idempotency", "key", by="created_at", agent_id=agent)
        return [row["key"] for row in rows]

    first = await bench.gateway.store("bot", NewMemory("first"), idempotency_key="first")
    await bench.gateway.store("other", NewMemory("text"), idempotency_key="of-another-agent")
    bench.later(60)
    (row,) = await rows_of(bench, "idempotency", key="first")
    began = int(row["created_at"] or 0)
    later = ({"key": f"key-{n}", "created_at": began + n} for n in range(1, limits.MAX_IDEMPOTENCY_KEYS))
    await insert_rows(bench, "idempotency", *({**row, **each} for each in later))
    assert len(await keys("bot")) == limits.MAX_IDEMPOTENCY_KEYS
    await bench.gateway.store("bot", NewMemory("last"), idempotency_key="last")
    kept = await keys("bot")
    assert (len(kept), kept[0], kept[-1]) == (limits.MAX_IDEMPOTENCY_KEYS - 999, "key-1000", "last")
    assert await bench.gateway.store("bot", NewMemory("first"), idempotency_key="first") == first
    assert await keys("other") == ["of-another-agent"]


async def test_the_count_of_keys_is_that_of_the_rows_after_any_change(bench: Bench) -> None:
    async def counted() -> list[tuple[object, ...]]:
        rows = await rows_of(bench, "idempotency_count", "tenant_id", "agent_id", "keys", by="tenant_id, agent_id")
        return [tuple(row.values()) for row in rows]

    for agent in ("bot", "other"):
        for n in range(3):
            await bench.gateway.store(agent, NewMemory(f"text {n}"), idempotency_key=f"key-{n}")
    await bench.gateway.store("bot", NewMemory("text 0"), idempotency_key="key-0")
    assert await counted() == [("acme", "bot", 3), ("acme", "other", 3)]
    await delete_rows(bench, "idempotency", key="key-1")
    assert await counted() == [("acme", "bot", 2), ("acme", "other", 2)]
    await bench.gateway.erase("bot")
    await bench.quiet()
    assert await counted() == [("acme", "other", 2)]
