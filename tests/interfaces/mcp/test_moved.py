"""A tenant that has moved to another shard is served there over MCP too, and only a credential that holds there."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from app.runtime.moving import move_tenant
from tests.support.service import Service, serving
from tests.support.sharded import add_shards, placed

LATER = 2**52
RECALL = {"name": "recall_memory", "arguments": {"query": "fox"}}


@pytest.fixture
async def moved(tmp_path: Path) -> AsyncIterator[tuple[Service, Service]]:
    """Return a process that knows where the tenant was, and the one that has moved it since."""
    await add_shards(tmp_path, ["east"])
    async with serving(tmp_path) as mover, serving(tmp_path) as late:
        await placed(mover, "acme", "main")
        await late.store("a fox lives in Oslo")
        await move_tenant(mover.shards, "acme", "east", lambda _: None, poll_seconds=0, linger_seconds=0)
        yield late, mover


async def asked(service: Service, credential: dict[str, str], method: str, params: dict[str, Any]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = credential | {"X-Agent-Id": "bot", "Accept": "application/json"}
    answer: dict[str, Any] = (await service.client.post("/mcp", json=message, headers=headers)).json()
    return answer


@pytest.mark.parametrize(
    ("method", "params", "found"),
    [
        ("tools/list", {}, "recall_memory"),
        ("tools/call", RECALL, "a fox lives in Oslo"),
        ("resources/read", {"uri": "memory://context/a"}, "memory://context/a"),
    ],
)
async def test_what_is_asked_where_the_tenant_was_is_answered_where_it_is(
    moved: tuple[Service, Service], method: str, params: dict[str, Any], found: str
) -> None:
    late, _ = moved
    assert found in str((await asked(late, late.credential(), method, params))["result"])


async def test_a_credential_that_was_revoked_where_the_tenant_is_reads_nothing_there(
    moved: tuple[Service, Service],
) -> None:
    late, mover = moved
    stolen = mover.credential()
    id_ = jwt.decode(stolen["Authorization"].split()[1], options={"verify_signature": False})["jti"]
    revoked = await mover.client.delete(f"/credentials/{id_}", headers=mover.credential(admin=True))
    assert revoked.status_code == 200
    for runtime in late.shards.runtimes.values():
        runtime.backends.revocations.seen(LATER)  # what it knew is too old
    result = (await asked(late, stolen, "tools/call", RECALL))["result"]
    assert result["_meta"]["code"] == "unauthenticated"
    assert "fox" not in str(result)
