"""Administrative acts beyond one request: kills, shards and moves, other interfaces, and processes that end."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import ShardUnavailable, Unavailable
from app.domain.request_note import RequestNote
from app.domain.shards import MAIN
from app.ports.database import Row, Statement
from app.runtime.acts import LateActs
from app.runtime.backends import Backends
from app.runtime.entry import CallEntry, admit
from app.runtime.moving import move_tenant
from app.services.access.acting import RunStatements
from app.services.access.credentials import Principal
from app.services.access.scopes import EVERY_SCOPE
from app.storage.scoped import ScopedStatement
from tests.support.service import Service, serving
from tests.support.sharded import placed, sharded
from tests.support.tables import count_of, rows_of

_ACTS = "administrative_act"


class Killed(BaseException):
    """The process is gone."""


class Dying:
    """A database whose process dies at the call of a number, before it or once it is carried out; 0: it lives."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.left, self.after = 0, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        counts = self.left > 0
        self.left -= counts
        dies = counts and self.left == 0
        if dies and not self.after:
            raise Killed
        rows: list[list[Row]] = await self._inner.run(statements)
        if dies:
            raise Killed
        return rows


async def administrator(service: Service, tenant: str = "acme") -> CallEntry:
    principal = Principal(tenant, None, EVERY_SCOPE, "tester", issued_at=service.runtime.backends.clock())
    return (await admit(service.shards, principal, RequestNote())).within("admin")


async def acts(service: Service, tenant: str = "acme") -> list[dict[str, Any]]:
    answer = await service.client.get("/audit/acts", headers=service.credential(tenant, admin=True))
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["acts"]
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("after", [False, True])
async def test_no_act_is_done_without_its_row_wherever_the_process_dies(tmp_path: Path, *, after: bool) -> None:
    dying: list[Dying] = []

    def mortal(backends: Backends) -> Backends:
        dying.append(Dying(backends.database))
        return replace(backends, database=dying[0])

    async with serving(tmp_path, change=mortal) as service:
        for number in range(1, 10):
            agent = f"bot-{number}"
            await service.store("a fox", agent_id=agent)
            entry = await administrator(service)
            erased = await count_of(service, "erasure")
            dying[0].left, dying[0].after = number, after
            try:
                async with entry.acting("agent.erase", agent_id=agent):
                    await entry.agent(agent).gateway.erase(agent)
            except Killed:
                ended = False
            else:
                ended = True
            dying[0].left = 0
            kept = [row["outcome"] for row in await rows_of(service, _ACTS) if agent in str(row["subject"])]
            done = await count_of(service, "erasure") > erased
            assert kept == ["done"] if ended else kept in (["begun"], ["done"], [])
            assert kept if done else kept != ["done"]
            if ended:
                break
        else:
            raise AssertionError("It never came to the end.")
        assert number > 2


async def test_a_store_and_a_recall_run_no_statement_for_acts(tmp_path: Path) -> None:
    ran: list[str] = []

    class Told(Dying):
        async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
            ran.extend(statement.sql for statement in statements)
            return await super().run(statements)

    told = lambda backends: replace(backends, database=Told(backends.database))  # noqa: E731 - one expression
    async with serving(tmp_path, change=told) as service:
        await service.store("a fox")
        assert await service.contents("fox") == ["a fox"]
        await service.shards.write_acts()
        assert ran
        assert [sql for sql in ran if _ACTS in sql] == []


async def test_acts_move_with_their_tenant_and_go_on_there(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", MAIN)
        admin, agents = service.credential(admin=True), service.credential(agent="bot")
        for _ in range(2):
            await service.client.delete("/workflows/look", headers=admin)
        await service.client.delete("/workflows/look", headers=agents)
        await service.shards.write_acts()
        before = await acts(service)
        await move_tenant(service.shards, "acme", "east", lambda _: None, poll_seconds=0, linger_seconds=0)
        assert await acts(service) == before
        await service.client.delete("/workflows/look", headers=admin)
        await service.client.delete("/workflows/look", headers=agents)
        await service.shards.write_acts()
        assert [(act["number"], act["attempts"]) for act in await acts(service)][:2] == [(4, 1), (3, 2)]
        east = service.shards.runtimes["east"]
        assert (await east.services("acme").acts.verify(service.shards.act_keys())).flaws == 0
        assert await count_of(service.runtime, _ACTS, tenant_id="acme") == 0


async def test_attempts_are_written_where_their_tenant_lives_and_wait_while_it_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", "east")
        await service.client.delete("/agents/bot", headers=service.credential(agent="bot"))

        async def away(_: str) -> None:
            raise ShardUnavailable("The shard east cannot be used.")

        with monkeypatch.context() as patched:
            patched.setattr(service.shards, "of", away)
            with pytest.raises(Unavailable):
                await service.shards.write_acts()
        await service.shards.write_acts()
        assert await count_of(service.shards.runtimes["east"], _ACTS, tenant_id="acme") == 1
        assert await count_of(service.runtime, _ACTS) == 0


async def test_a_process_that_ends_writes_what_it_has_counted(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.client.delete("/agents/bot", headers=service.credential(agent="bot"))
        await service.shards.close()
    async with serving(tmp_path) as service:
        (act,) = await acts(service)
        assert (act["act"], act["outcome"]) == ("agent.erase", "refused")


async def test_what_was_just_being_written_when_a_process_ends_is_written_once_more() -> None:
    begun, never = asyncio.Event(), asyncio.Event()
    written: list[str] = []

    async def hangs(_: Sequence[ScopedStatement]) -> list[list[Row]]:
        begun.set()
        await never.wait()
        return []

    async def writes(statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        written.extend(statement.tenant_id for statement in statements)
        return [[] for _ in statements]

    async def run_of_first(_: str) -> RunStatements:
        return hangs

    async def run_of_last(_: str) -> RunStatements:
        return writes

    late = LateActs("process", lambda: 0, lambda: b"key")
    late.refused("acme", "stolen", "access", "forbidden", "http")
    writing = asyncio.create_task(late.write(run_of_first))
    await begun.wait()
    writing.cancel()
    await asyncio.wait([writing])
    await late.write(run_of_last)
    assert written == ["acme"]


async def test_what_is_refused_over_mcp_is_counted_too(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        headers = service.credential(agent="bot") | {"X-Agent-Id": "other", "Accept": "application/json"}
        call = {"name": "recall_memory", "arguments": {"query": "tea"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        await service.client.post("/mcp", json=message, headers=headers)
        await service.shards.write_acts()
        (act,) = await acts(service)
        assert (act["act"], act["channel"], act["code"]) == ("access", "mcp", "forbidden")


async def test_two_processes_count_attempts_beside_each_other(tmp_path: Path) -> None:
    async with serving(tmp_path) as first, serving(tmp_path) as second:
        headers = first.credential(agent="bot")
        for service in (first, second, second):
            await service.client.delete("/agents/bot", headers=headers)
        await first.shards.write_acts()
        await second.shards.write_acts()
        assert sorted(act["attempts"] for act in await acts(first)) == [1, 2]


async def test_many_tenants_that_cannot_be_reached_keep_no_other_one_waiting() -> None:
    written: list[str] = []

    async def run_of(tenant_id: str) -> RunStatements:
        async def run(statements: Sequence[ScopedStatement]) -> list[list[Row]]:
            written.append(tenant_id)
            return [[] for _ in statements]

        if tenant_id.startswith("away"):
            raise ShardUnavailable("The shard is away.")
        return run

    late = LateActs("process", lambda: 0, lambda: b"key")
    for tenant_id in (*(f"away{number}" for number in range(8)), "other"):
        late.refused(tenant_id, "stolen", "access", "forbidden", "http")
    for _ in range(3):
        with pytest.raises(ShardUnavailable):
            await late.write(run_of)
    assert written == ["other"]
