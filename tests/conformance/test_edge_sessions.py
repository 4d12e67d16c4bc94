"""Reads that a replica answers: it is as far behind as the bookmark that it is sent allows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from app.adapters.cloudflare.d1 import D1Database
from app.domain.errors import DatabaseRejected
from app.ports.database import Database, Statement
from tests.conformance.edge import Edge, EdgeBackend, Slot, edge_client
from tests.support.service import serving

TABLE = Statement.write("CREATE TABLE t (n INTEGER)")


def put(n: int) -> Statement:
    return Statement.write("INSERT INTO t SELECT ?1 ->> 'n'", n=n)


async def rows(database: Database) -> list[object]:
    (found,) = await database.run([Statement.read("SELECT n FROM t ORDER BY n")])
    return [row["n"] for row in found]


@asynccontextmanager
async def opened(edge: Edge, slot: Slot, reads: Literal["primary", "replicas"]) -> AsyncIterator[Database]:
    async with edge_client(edge.base_url("replicated", slot)) as client:
        yield D1Database(client, slot.database_id, reads=reads)


async def test_a_process_whose_reads_replicas_answer_sees_all_that_it_wrote(edge: Edge) -> None:
    slot = edge.slot()
    async with opened(edge, slot, "replicas") as database:
        await database.run([TABLE])
        for n in range(20):
            await database.run([put(n)])
            assert await rows(database) == list(range(n + 1))
        reached = edge.reached()
    assert reached.count(f"DB_{slot.number}_REPLICA.batch") >= 20 + 21, (
        "21 writes were caught up with, 20 reads answered"
    )


async def test_concurrent_writes_are_seen_once_they_are_acknowledged(edge: Edge) -> None:
    async with opened(edge, edge.slot(), "replicas") as database:
        await database.run([TABLE])

        async def write_and_read(n: int) -> None:
            await database.run([put(n)])
            assert n in await rows(database)

        await asyncio.gather(*(write_and_read(n) for n in range(40)))
        assert await rows(database) == list(range(40))


async def test_the_primary_answers_until_a_bookmark_is_known(edge: Edge) -> None:
    slot = edge.slot()
    async with opened(edge, slot, "replicas") as first:
        await first.run([TABLE, put(1)])
    async with opened(edge, slot, "replicas") as second:
        assert await rows(second) == [1]


async def test_what_another_process_wrote_is_seen_late_by_replicas_and_at_once_by_the_primary(edge: Edge) -> None:
    slot = edge.slot()
    async with (
        opened(edge, slot, "replicas") as late,
        opened(edge, slot, "primary") as at_once,
        opened(edge, slot, "primary") as writer,
    ):
        await writer.run([TABLE, put(1)])
        assert await rows(late) == await rows(at_once) == [1]
        await writer.run([put(2)])
        assert (await rows(late), await rows(at_once)) == ([1], [1, 2])
        await late.run([put(3)])
        assert await rows(late) == [1, 2, 3], "a write of its own brings the process up to date"


async def test_after_a_failure_the_primary_answers(edge: Edge) -> None:
    slot = edge.slot()
    async with opened(edge, slot, "replicas") as database, opened(edge, slot, "primary") as writer:
        await database.run([TABLE])
        assert await rows(database) == []
        await writer.run([put(1)])
        assert await rows(database) == []
        with pytest.raises(DatabaseRejected):
            await database.run([Statement.read("SELECT no FROM t")])
        assert await rows(database) == [1]


async def test_a_service_recalls_what_it_has_stored_by_a_replica(tmp_path: Path, edge: Edge) -> None:
    backend = EdgeBackend(edge, "replicated", cloudflare_d1_reads="replicas")
    async with serving(tmp_path, on=backend, indexer_seconds=30) as service:
        number = backend.slots[tmp_path].number
        await service.store("first of all")
        edge.reached()
        assert await service.contents("first of all") == ["first of all"]
        assert f"DB_{number}_REPLICA.batch" in edge.reached()
        (entry,) = await service.recall("first of all")
        assert (await service.delete(entry["id"])).is_success
        assert await service.contents("first of all") == []
