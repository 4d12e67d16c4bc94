"""The whole contract of ``Database`` through both entries of the edge, and beside a replica that stays behind."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from app.adapters.cloudflare.d1 import D1Database
from app.ports.database import Database
from app.storage.migrations.runner import SCHEMA, applied_migrations, known_migrations, migrate
from tests.conformance.edge import ENTRIES, Edge, Slot, edge_client
from tests.contracts.conftest import Opened
from tests.contracts.test_database import *  # noqa: F403 - the same suite, not a copy of it


@asynccontextmanager
async def edge_database(edge: Edge, entry: str, slot: Slot) -> AsyncIterator[Database]:
    async with edge_client(edge.base_url(entry, slot)) as client:
        yield D1Database(client, slot.database_id)


@pytest.fixture(params=[*ENTRIES, "replicated"])
def open_database(request: pytest.FixtureRequest, edge: Edge) -> Opened:
    return partial(edge_database, edge, request.param, edge.slot())


async def test_the_migrations_apply_once(database: Database) -> None:
    names = [migration.name for migration in known_migrations()]
    assert await migrate(database) == [SCHEMA]
    assert await migrate(database) == []
    assert await applied_migrations(database) == names
