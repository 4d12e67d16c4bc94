"""Whether an agent has a tool is found out in the call's own runs of the database: none is made for it."""

from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.runtime.backends import Backends
from tests.support.backends import Backend
from tests.support.doubles import FailingDatabase
from tests.support.service import Service, serving
from tests.support.tables import column_of


@pytest.fixture
async def counted(tmp_path: Path, backend: Backend) -> AsyncIterator[tuple[Service, FailingDatabase]]:
    databases: list[FailingDatabase] = []

    def change(backends: Backends) -> Backends:
        databases.append(FailingDatabase(backends.database))
        return replace(backends, database=databases[0])

    async with serving(tmp_path, on=backend, change=change, indexer_seconds=30) as service:
        yield service, databases[0]


async def runs(database: FailingDatabase, call: Awaitable[Any]) -> int:
    before = len(database.runs)
    await call
    return len(database.runs) - before


async def give(service: Service, tools: str) -> None:
    headers = service.credential(admin=True)
    answer = await service.client.put("/agents/bot", json={"tools": tools}, headers=headers)
    assert answer.status_code == 200


async def test_a_call_of_a_tool_makes_as_many_runs_as_the_service_behind_it(
    counted: tuple[Service, FailingDatabase],
) -> None:
    service, database = counted
    await service.store("the first memory")
    assert await runs(database, service.store("by the route")) == 1
    assert await runs(database, service.call("store_memory", {"content": "by the tool"})) == 1
    assert await runs(database, service.recall("by")) == await runs(
        database, service.call("recall_memory", {"query": "by"})
    )
    profiles = service.runtime.services("acme").profiles
    await give(service, "profile")
    direct = await runs(database, profiles.remember("bot", "directly"))
    assert await runs(database, service.call("remember", {"content": "by the other tool"})) == direct
    direct = await runs(database, profiles.recall("bot", "directly"))
    assert await runs(database, service.call("recall", {"query": "directly"})) == direct
    assert await runs(database, service.call("list", {"about": ""})) == 1
    (entry,) = await service.recall("directly", top_k=1)
    assert await runs(database, service.call("forget", {"memory": entry["id"]})) == 1


async def test_what_an_agent_does_not_have_neither_writes_nor_reads(counted: tuple[Service, FailingDatabase]) -> None:
    service, database = counted
    await service.store("held")
    (entry,) = await service.recall("held")
    for tools, calls in (
        ("profile", [("store_memory", {"content": "slipped in"}), ("recall_memory", {"query": "held"})]),
        (
            "recall_store",
            [
                ("remember", {"content": "slipped in"}),
                ("remember", {"content": "I need to buy milk tomorrow."}),
                ("recall", {"query": "held"}),
                ("forget", {"memory": entry["id"]}),
                ("forget", {"memory": "held"}),
                ("list", {"about": ""}),
            ],
        ),
    ):
        await give(service, tools)
        for name, arguments in calls:
            answer = (await service.mcp("tools/call", {"name": name, "arguments": arguments})).json()
            assert "There is no tool of this name." in answer["error"]["message"], (name, answer)
        assert await service.contents("held milk slipped in") == ["held"]
    assert await column_of(database, "audit", "event") == ["stored"]
