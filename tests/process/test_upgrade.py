"""The version that was landed last runs beside the next one, which has migrated the database while it was serving."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.storage.migrations.runner import known_migrations
from tests.process.conftest import Start
from tests.process.landed import code_of, migrations, ready, serving
from tests.process.memories import Memory, forgotten, held, made, rows_of, store
from tests.process.server import Server, until

pytestmark = pytest.mark.thorough

_RECORDED = Path(__file__).parent / "previous_version.txt"
"""Names the commit of the version that was landed last before the newest migration."""


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the code of the version before."""
    return code_of(_RECORDED.read_text("utf-8").strip(), tmp_path_factory.mktemp("previous"))


@pytest.fixture
def older(previous: Path, data_dir: Path, tmp_path: Path) -> Iterator[Server]:
    """Return the version before as a server that has just been started."""
    with serving(previous, data_dir, tmp_path / "older.log") as server:
        yield server


def test_the_version_that_is_recorded_lacks_a_migration_and_has_no_other(previous: Path) -> None:
    here = {migration.name for migration in known_migrations()}
    assert migrations(previous) < here, (
        f"{_RECORDED.name} has to name the version that was landed last before the newest migration: "
        "git rev-parse main > tests/process/previous_version.txt"
    )


async def test_both_versions_store_recall_delete_and_erase_side_by_side(
    previous: Path, older: Server, start: Start, data_dir: Path
) -> None:
    await ready(older)
    async with older.client() as client:
        for number in range(8):
            assert (await store(client, made("before", number))).status_code == 201
    newer = await start()
    applied = {name for (name,) in rows_of(data_dir, "d1_migrations", "name")}
    assert applied > migrations(previous), "the next version has migrated the database"
    async with older.client() as first, newer.client() as second:
        memories = [made("before", number) for number in range(8)]
        for number, (here, there) in enumerate([(first, second), (second, first)] * 4):
            memory = made("beside", number)
            assert (await store(here, memory)).status_code == 201
            memories.append(memory)
            assert await forgotten(there, [memory]) == []
        for client in (first, second):
            assert await forgotten(client, memories) == []
        for here, there, memory in ((first, second, memories[0]), (second, first, memories[1])):
            await _deleted(here, there, memory)
        for here, there, agent in ((first, second, "agent-2"), (second, first, "agent-3")):
            await _erased(here, there, agent)
        assert held(data_dir) == sorted(memory for memory in memories[2:] if memory.agent_id in {"agent-0", "agent-1"})
        assert [(await client.get("/readyz")).status_code for client in (first, second)] == [200, 200]
    assert "Traceback" not in older.log.read_text() + newer.log.read_text()


async def _deleted(here: httpx.AsyncClient, there: httpx.AsyncClient, memory: Memory) -> None:
    listed = await there.get("/memories", params={"agent_id": memory.agent_id, "limit": 100})
    (id_,) = (each["id"] for each in listed.json()["memories"] if each["content"] == memory.content)
    assert (await here.delete(f"/memories/{id_}?agent_id={memory.agent_id}")).status_code == 204
    assert await forgotten(there, [memory]) == [memory]


async def _erased(here: httpx.AsyncClient, there: httpx.AsyncClient, agent_id: str) -> None:
    accepted = await here.delete(f"/agents/{agent_id}")
    assert accepted.status_code == 202, accepted.text
    operation = accepted.json()["id"]

    async def finished() -> bool:
        return bool((await there.get(f"/operations/{operation}")).json()["status"] == "done")

    await until(finished)
