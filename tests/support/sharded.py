"""A service whose tenants are spread over several shards."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app.bootstrap import build_shards, make_shard, open_database
from app.domain.shards import MAIN
from app.ports.database import Row, Statement
from app.runtime.runtime import Runtime
from app.storage.system import directory
from tests.support import migrated
from tests.support.service import Service, serving, settings_for
from tests.support.tables import set_rows


async def add_shards(data_dir: Path, names: Sequence[str], **overrides: Any) -> None:
    """Add embedded shards to a directory's data, so long ago that every process knows of them."""
    migrated.prepare(data_dir)
    settings = settings_for(data_dir, **overrides)
    shards = build_shards(settings)
    try:
        await shards.prepare()
        for name in names:
            await shards.add(name, await make_shard(settings, name, None, lambda _: None, poll_seconds=0))
    finally:
        await shards.close()
    await backdate(data_dir, **overrides)


async def backdate(data_dir: Path, **overrides: Any) -> None:
    """Have the shards be so old that every process knows of them."""
    database, close = await open_database(settings_for(data_dir, **overrides))
    try:
        await set_rows(database, "shards", {"added_at": 0})
    finally:
        await close()


@asynccontextmanager
async def sharded(data_dir: Path, names: Sequence[str] = ("east",), **overrides: Any) -> AsyncIterator[Service]:
    """Serve a directory's memories with these shards beside the first."""
    await add_shards(data_dir, names, **overrides)
    async with serving(data_dir, **overrides) as service:
        yield service


async def placed(service: Service, tenant: str, shard: str) -> None:
    """Place a tenant that nobody knows yet."""
    place = directory.first_place(shard)
    if shard != MAIN:
        await service.shards.runtimes[shard].backends.database.run([directory.enter(tenant, place.epoch)])
    await service.runtime.backends.database.run(directory.place(tenant, place))


async def rows(runtime: Runtime, sql: str) -> list[Row]:
    (found,) = await runtime.backends.database.run([Statement(sql)])
    return found
