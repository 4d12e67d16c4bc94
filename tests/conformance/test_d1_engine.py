"""The whole contract of ``Database``, the migrations and a service, on the engine that D1 runs on."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.ports.database import Database
from app.storage.migrations.runner import SCHEMA, applied_migrations, known_migrations, migrate
from tests.contracts.test_database import *  # noqa: F403 - the same suite, not a copy of it
from tests.support.service import serving


async def test_the_migrations_apply_once(database: Database) -> None:
    names = [migration.name for migration in known_migrations()]
    assert await migrate(database) == [SCHEMA]
    assert await migrate(database) == []
    assert await applied_migrations(database) == names


async def test_a_service_stores_recalls_and_deletes(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The vectors are in a file, which no run of the engine can ask.
    monkeypatch.setattr(SqliteVectorIndex, "ask_within", lambda *_, **__: None)
    async with serving(tmp_path, change=lambda ports: replace(ports, database=database)) as service:
        await service.store("Invoices go out in Swedish", metadata={"topic": "billing"}, session_id="s1")
        await service.store("The meeting is on Thursday", metadata={"topic": "calendar", "rooms": [1, None, {"x": 2}]})
        await service.store("Invoices of another tenant", tenant="other")
        first, second = await service.recall("invoices in Swedish")
        assert [first["content"], second["content"]] == ["Invoices go out in Swedish", "The meeting is on Thursday"]
        assert second["metadata"] == {"topic": "calendar", "rooms": [1, None, {"x": 2}]}
        where = {"created_after": "2026-01-01T00:00:00Z", "metadata": {"topic": "calendar"}}
        assert await service.contents("invoices", filter=where) == ["The meeting is on Thursday"]
        body = {"agent_id": "bot", "content": "Invoices go out in Swedish", "session_id": "s1"}
        added = await service.post("/store", body | {"metadata": {"topic": "language", "year": 2026}})
        assert added.json() == {"stored": True, "kept": ["metadata.topic"]}
        assert len(await service.recall("invoices", filter={"metadata": {"topic": "billing", "year": 2026}})) == 1
        await service.post("/store", body | {"metadata": {"topic": "language"}}, admin=True)
        (again,) = await service.recall("invoices", filter={"metadata": {"topic": "language"}})
        assert again["id"] == first["id"]
        assert (await service.delete(first["id"])).is_success
        assert await service.contents("invoices in Swedish") == ["The meeting is on Thursday"]
