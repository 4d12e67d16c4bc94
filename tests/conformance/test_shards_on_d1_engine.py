"""Shards and moves on Cloudflare's own D1 engine: the directory and every shard's database are there."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from app.adapters.cloudflare.d1 import D1Database
from app.adapters.local.database_place import DatabasePlace
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.domain.shards import MAIN
from tests.conformance.conftest import client_of
from tests.conformance.d1_engine import ClockedDatabase, D1Engine, EngineDatabase
from tests.runtime.killed_movers import MOMENTS, check_killed
from tests.runtime.test_moving import everything, moved, nothing_in_the_background
from tests.support.clock import clock_of
from tests.support.service import Service
from tests.support.sharded import placed, sharded

__all__ = ["nothing_in_the_background"]
_WRITES = 40


@asynccontextmanager
async def _sharded_on(engine: D1Engine, data_dir: Path) -> AsyncIterator[Service]:
    """Serve with a database of the engine in the place of each SQLite file; the vectors stay in the files."""
    databases: defaultdict[Path, EngineDatabase] = defaultdict(engine.empty_database)

    async with AsyncExitStack() as closing:

        def opened(file: SqliteFile) -> D1Database:
            DatabasePlace(file.path).check()  # makes it: a shard's file without bytes is taken for a lost one
            database = databases[file.path]
            client = client_of(database)
            closing.push_async_callback(client.close)
            return ClockedDatabase(client, database.id, clock_of(data_dir))

        with pytest.MonkeyPatch.context() as patch:
            for module in ("stacks", "provisioning", "databases"):
                patch.setattr(f"app.bootstrap.{module}.SqliteDatabase", opened)
            # No run of the engine can ask the files.
            patch.setattr(SqliteVectorIndex, "ask_within", lambda *_, **__: None)
            async with sharded(data_dir) as service:
                yield service


async def test_a_tenant_moves_to_and_fro_while_it_is_written_and_read(tmp_path: Path, engine: D1Engine) -> None:
    async with _sharded_on(engine, tmp_path) as service:
        await placed(service, "acme", MAIN)
        await service.store("the first note", tenant="acme")
        writing = asyncio.create_task(_write(service))
        for shard in ("east", MAIN, "east"):
            await moved(service, "acme", shard)
        stored = await writing
        assert len(stored) > _WRITES / 2
        for content in stored:
            assert (await service.contents(content, tenant="acme", top_k=1)) == [content]
        main, east = (service.shards.runtimes[name].backends.database for name in (MAIN, "east"))
        assert len((await everything(east, "acme"))["long_term_memory"]) == len(stored) + 1
        assert not any((await everything(main, "acme")).values())


@pytest.mark.usefixtures("nothing_in_the_background")
@pytest.mark.long
async def test_no_row_is_lost_or_doubled_where_a_mover_is_killed(tmp_path: Path, engine: D1Engine) -> None:
    async with _sharded_on(engine, tmp_path) as service:
        await placed(service, "acme", MAIN)
        for number in range(5):
            await service.store(f"note {number} of many", tenant="acme")
        for step, after in MOMENTS:
            await check_killed(service, "acme", "bot", step, after=after)


async def _write(service: Service) -> list[str]:
    """Store one note after the other, and find each at once; return those that were stored."""
    stored = []
    for number in range(_WRITES):
        content = f"note {number} of many"
        answer = await service.post("/store", {"agent_id": "bot", "content": content})
        assert answer.status_code in {201, 503}, answer.text
        if answer.status_code == 201:
            stored.append(content)
            found = await service.post("/recall", {"agent_id": "bot", "query": content, "top_k": 1})
            assert found.status_code == 503 or found.json()["entries"][0]["content"] == content
        await asyncio.sleep(0.05)
    return stored
