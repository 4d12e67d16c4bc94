"""A process that was idle while the first shard was added hears of it before it serves a request."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import TenantMoved
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.interfaces.tools.calls import Toolbox
from app.runtime.backends import Backends
from app.runtime.entry import CallEntry
from app.runtime.ingestions import resume_once
from app.runtime.windows import settle_once
from app.services.access.credentials import Principal
from app.services.access.revocations import Revocations
from tests.support.memories import tenants
from tests.support.service import serving
from tests.support.sharded import add_shards, placed, sharded


def _heard_long_ago(backends: Backends) -> Backends:
    """Have what the process has heard of its database be too old to go by, as after 20 seconds without a request."""
    return replace(backends, revocations=Revocations(0.0))


async def test_its_first_store_goes_to_the_shard_where_the_tenant_lives(tmp_path: Path) -> None:
    async with serving(tmp_path, change=_heard_long_ago) as idle, sharded(tmp_path) as other:
        await placed(other, "acme", "east")
        await idle.store("a bear in the east", tenant="acme")
        assert await other.contents("bear", tenant="acme") == ["a bear in the east"]
        assert await tenants(idle.runtime) == []


async def test_its_first_recall_finds_what_is_in_the_shard(tmp_path: Path) -> None:
    async with serving(tmp_path, change=_heard_long_ago) as idle, sharded(tmp_path) as other:
        await placed(other, "acme", "east")
        await other.store("a fox in the east", tenant="acme")
        assert await idle.contents("fox", tenant="acme") == ["a fox in the east"]


async def test_a_tool_over_standard_input_stores_where_the_tenant_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.runtime.places.MAX_AGE_SECONDS", 0.0)
    async with serving(tmp_path) as idle:
        entry = CallEntry(Principal("acme"), idle.shards, idle.runtime, "mcp")
        toolbox = Toolbox(entry, "bot")  # ``memory-gateway mcp`` makes one for its whole life
        async with sharded(tmp_path) as other:
            await placed(other, "acme", "east")
            await toolbox.call("store_memory", {"content": "a bear in the east"})
            assert await other.contents("bear", tenant="acme") == ["a bear in the east"]


async def test_a_request_that_began_before_there_was_a_shard_is_refused_for_a_tenant_of_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as idle:
        writing, reading = (idle.runtime.services("acme").gateway for _ in range(2))
        async with sharded(tmp_path) as other:
            await placed(other, "acme", "east")
            await idle.store("a bear at home", tenant="globex")  # by its run the process hears of the shard
            with pytest.raises(TenantMoved):
                await writing.store("bot", NewMemory("a fox in the east"))
            with pytest.raises(TenantMoved):
                await reading.recall("bot", Query("fox"))
            assert await tenants(idle.runtime) == ["globex"]


@pytest.mark.parametrize("look", [settle_once, resume_once])
async def test_its_work_in_the_background_hears_of_the_shard(
    tmp_path: Path, look: Callable[[Backends], Awaitable[int]]
) -> None:
    async with serving(tmp_path) as idle:
        await add_shards(tmp_path, ["east"])
        await look(idle.runtime.backends)
        assert idle.shards.places.sharded
