"""Databases that landed versions have made and filled are carried over by this one, with all that they hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.storage.migrations.runner import known_migrations
from tests.process.conftest import Spawn
from tests.process.landed import code_of, migrations, ready, serving
from tests.process.memories import rows, rows_of
from tests.process.server import Server
from tests.support.migrated import prepare
from tests.support.schema_text import READ, objects

pytestmark = pytest.mark.thorough

LANDED = {
    12: "8bfe69a7d4f67aae11479fa799ac6297ea50f309",
    16: "54bc9b4edb1900191a376d465b0810c5fdcbdac0",
    27: "cc1ee0f7b202e15ea31327d1b5ecc151cfcf6de1",
    29: "58d2a49e24a70759f550279d704898d023676eda",
    37: "f7c62618ce4e16421e563b067e50b0f5cbcd1342",
    44: "94911b9ef66167b388eda454d6a56c633542e39d",
    49: "2fae5fbc2e0116aa9e48e49b0ef309c5390cb36f",
}
"""Commits by how many migrations they know. Those of the tiers had other numbers before 27."""
_BETWEEN = sorted(LANDED)[1:-1]
"""What those of them have written that lie between the first and the last is carried over in the long runs."""
RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
WRITES: dict[str, tuple[str, str, Any]] = {
    "a parcel was sent to Rome": (
        *("POST", "/store"),
        {"agent_id": "bot", "content": "a parcel was sent to Rome", "metadata": {"order": 17}, "session_id": "post"},
    ),
    "Rome is home": (
        "POST",
        "/store",
        {"agent_id": "bot", "content": "Rome is home", "occurred_at": "2026-01-01T00:00:00Z"},
    ),
    "violets": ("POST", "/facts", {"agent_id": "bot", "subject": "user", "predicate": "likes", "object": "violets"}),
    "tea is taken at five": ("POST", "/profiles/bot/remember", {"content": "tea is taken at five"}),
    "the train leaves at noon": (
        *("POST", "/profiles/bot/ingest"),
        {"messages": [{"role": "user", "content": "the train leaves at noon"}]},
    ),
    "to book a table": (
        *("POST", "/runs"),
        {"run_id": RUN, "agent_id": "bot", "agent_type": "waiter", "input": "to book a table"},
    ),
    "nobody answered": (
        "POST",
        f"/runs/{RUN}/episodes",
        {"episodes": [{"type": "note", "content": "nobody answered"}]},
    ),
    "state of calling": ("PUT", f"/runs/{RUN}/state", {"value": "state of calling"}),
    "log of calling": ("POST", f"/runs/{RUN}/log", {"entries": [{"note": "log of calling"}]}),
    "dialled": (
        *("POST", f"/runs/{RUN}/audit"),
        {"calls": [{"tool": "phone", "input": "dialled", "outcome": "ok", "ms": 1}]},
    ),
    "pinned": ("PUT", "/working/bot/desk/note", {"value": "pinned"}),
    "good morning": ("POST", "/working/bot/desk/messages", {"messages": [{"role": "user", "content": "good morning"}]}),
    "rules of the house": ("PUT", "/context/house", {"content": "rules of the house"}),
    "of the tenant": ("PUT", "/configuration", {"values": {"colour": "of the tenant"}}),
    "ask twice": (
        "PUT",
        "/workflows/booking",
        {"agent_type": "waiter", "task_type": "book", "spec": {"step": "ask twice"}},
    ),
    "booked at last": ("POST", f"/runs/{RUN}/complete", {"output": "booked at last"}),
}
"""What each tier is given: a text that is found nowhere else, and the request that brings it."""


@pytest.fixture(
    params=[
        pytest.param(number, id=f"{number} migrations", marks=[pytest.mark.long] * (number in _BETWEEN))
        for number in LANDED
    ]
)
def code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return code_of(LANDED[request.param], tmp_path_factory.mktemp("landed"))


@pytest.fixture
def older(code: Path, data_dir: Path, tmp_path: Path) -> Iterator[Server]:
    with serving(code, data_dir, tmp_path / "older.log") as server:
        yield server


async def listed(client: httpx.AsyncClient) -> dict[str, str]:
    answer = await client.get("/memories", params={"agent_id": "bot", "limit": 100})
    assert answer.status_code == 200, answer.text
    return {memory["id"]: memory["content"] for memory in answer.json()["memories"]}


async def filled(server: Server) -> tuple[dict[str, str], list[str]]:
    """Give each tier that the version has something; return its memories, and the texts that it took."""
    await ready(server)
    taken: list[str] = []
    async with server.client() as client:
        # A version that refuses a body unread closes its connection without a word: no second request may use it.
        client.headers["Connection"] = "close"
        for text, (method, path, body) in WRITES.items():
            answer = await client.request(method, path, json=body)
            if answer.status_code != 404:  # a path that a later version has
                assert answer.is_success, (path, answer.text)
                taken.append(text)
        return await listed(client), taken


def schema(data_dir: Path) -> Any:
    columns = ("type", "name", "tbl_name", "sql")
    return objects(dict(zip(columns, row, strict=True)) for row in rows(data_dir, READ))


async def test_what_a_landed_version_has_stored_is_listed_recalled_and_exported(
    code: Path, older: Server, spawn: Spawn, data_dir: Path, tmp_path: Path
) -> None:
    memories, taken = await filled(older)
    assert len(memories) >= 2
    assert len(taken) == len(WRITES) if len(migrations(code)) >= 27 else taken
    await older.stop()
    newer = spawn()
    await ready(newer)
    known = [migration.name for migration in known_migrations()]
    assert [name for (name,) in rows_of(data_dir, "d1_migrations", "name", by="id")] == known
    async with newer.client() as client:
        assert await listed(client) == memories
        for id_, content in memories.items():
            answer = await client.post("/recall", json={"agent_id": "bot", "query": content, "top_k": 1})
            assert [entry["id"] for entry in answer.json()["entries"]] == [id_], content
        exported = (await client.get("/export")).text
        assert [text for text in taken if text not in exported] == []
        assert (await client.post("/store", json={"agent_id": "bot", "content": "after it"})).status_code == 201
    prepare(tmp_path / "fresh")
    assert schema(data_dir) == schema(tmp_path / "fresh")
    assert "Traceback" not in newer.log.read_text()
