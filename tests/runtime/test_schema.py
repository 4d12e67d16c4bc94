"""A newer version migrates the database beside a running one: it goes on, or says why it does not."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.bootstrap import stacks
from app.domain.errors import DatabaseUnavailable
from app.ports.database import Statement
from app.runtime.backends import Backends
from app.runtime.background import Pace
from app.storage.migrations.runner import known_migrations
from tests.support.doubles import FailingDatabase
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving

NEXT = "9999_future.sql"
HERE = known_migrations()[-1].name
BREAKS = "ALTER TABLE long_term_memory RENAME COLUMN session_id TO conversation_id"
"""What a migration may do that the code before it cannot run beside."""


async def migrated(service: Service, *, oldest: str | None, changes: Sequence[str] = ()) -> None:
    """Do as the next version does."""
    statements = [*changes, f"INSERT INTO d1_migrations (name) VALUES ('{NEXT}')"]
    if oldest is not None:
        statements.append(f"INSERT INTO schema_compatibility (name, oldest) VALUES ('{NEXT}', '{oldest}')")
    await service.runtime.backends.database.run([Statement(sql, writes=True) for sql in statements])


async def set_back(service: Service) -> None:
    changes = [
        f"DELETE FROM d1_migrations WHERE name = '{NEXT}'",
        f"{BREAKS}".replace("session_id TO conversation_id", "conversation_id TO session_id"),
    ]
    await service.runtime.backends.database.run([Statement(sql, writes=True) for sql in changes])


async def ready(service: Service) -> int:
    return (await service.client.get("/readyz")).status_code


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the version all the time instead of once a minute."""
    monkeypatch.setattr(stacks, "Pace", partial(Pace, schema_seconds=0.01))


@pytest.mark.parametrize("oldest", [None, NEXT, HERE])
async def test_a_statement_that_a_newer_schema_breaks_is_503_and_readiness_says_why(
    tmp_path: Path, oldest: str | None
) -> None:
    """Also where the migration was said to let this version run: a statement tells better."""
    async with serving(tmp_path) as service:
        await service.store("before")
        await migrated(service, oldest=oldest, changes=[BREAKS])
        asked = [service.post("/store", {"agent_id": "bot", "content": f"number {n}"}) for n in range(4)]
        for answer in await asyncio.gather(*asked):
            problem = assert_problem(answer, 503, "schema_too_new")
            assert NEXT in problem["detail"]
            assert int(answer.headers["retry-after"]) >= 1
        assert await ready(service) == 503
        details = await service.client.get("/readyz?details", headers=service.credential(admin=True))
        assert NEXT in details.text
        assert_problem(await service.post("/recall", {"agent_id": "bot", "query": "before"}), 503, "schema_too_new")


@pytest.mark.usefixtures("often")
async def test_a_schema_that_this_version_cannot_run_beside_is_noticed_without_a_request(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await migrated(service, oldest=NEXT)
        async with asyncio.timeout(20):
            while await ready(service) != 503:
                await asyncio.sleep(0.01)
        assert_problem(await service.post("/recall", {"agent_id": "bot", "query": "x"}), 503, "schema_too_new")


@pytest.mark.usefixtures("often")
async def test_a_version_that_had_to_stop_goes_on_once_the_database_was_set_back(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await migrated(service, oldest=None, changes=[BREAKS])
        async with asyncio.timeout(20):
            while await ready(service) != 503:
                await asyncio.sleep(0.01)
            await set_back(service)
            while await ready(service) != 200:
                await asyncio.sleep(0.01)
        await service.store("after")


@pytest.mark.usefixtures("often")
async def test_an_outage_hides_no_schema_that_is_too_new_and_keeps_nobody_from_going_on(
    tmp_path: Path,
) -> None:
    files: list[FailingDatabase] = []

    def failing(backends: Backends) -> Backends:
        files.append(FailingDatabase(backends.database))
        return replace(backends, database=files[0])

    async with serving(tmp_path, change=failing) as service, asyncio.timeout(20):
        await migrated(service, oldest=NEXT, changes=[BREAKS])
        while await ready(service) != 503:
            await asyncio.sleep(0.01)
        (file,) = files
        file.error, looks = DatabaseUnavailable("It is away."), len(file.runs)
        while len(file.runs) < looks + 3:
            await asyncio.sleep(0.01)
        assert_problem(await service.post("/recall", {"agent_id": "bot", "query": "x"}), 503, "schema_too_new")
        file.error = None
        await set_back(service)
        while await ready(service) != 200:
            await asyncio.sleep(0.01)


@pytest.mark.usefixtures("often")
async def test_a_version_goes_on_beside_a_migration_that_lets_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await migrated(service, oldest=HERE, changes=["ALTER TABLE long_term_memory ADD COLUMN more TEXT"])
        await asyncio.sleep(0.05)
        assert await ready(service) == 200
        await service.store("beside")
    async with serving(tmp_path) as service:  # also where it starts anew
        assert await service.contents("beside") == ["beside"]


async def test_a_statement_that_is_wrong_by_itself_is_a_defect_as_before(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.runtime.backends.database.run([Statement(BREAKS, writes=True)])
        assert (await service.post("/store", {"agent_id": "bot", "content": "x"})).status_code == 500
        assert await ready(service) == 200
