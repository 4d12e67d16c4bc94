"""The whole service in this process, over a data directory of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from pydantic import BaseModel

from app.bootstrap import build_shards
from app.interfaces.asgi import create_app, session_times
from app.interfaces.http.metrics_readers import MetricsReaders
from app.runtime.backends import Backends
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.services.access.scopes import EVERY_SCOPE, READ_WRITE, AccessScope, CredentialWanted
from app.settings import Settings
from tests.support import migrated
from tests.support.backends import Backend
from tests.support.clock import Clock, clock_of

NOW = 1_790_000_000_000
PATIENT = 60.0
"""Seconds that a request waits for its turn: a busy machine refuses none, but in the tests of that."""
SECRETS = {"test": "a secret of the tests, long enough to sign"}


@dataclass(frozen=True, slots=True)
class Service:
    """A client of the running service, and what is behind it."""

    client: httpx.AsyncClient
    runtime: Runtime
    app: FastAPI
    shards: Shards
    clock: Clock

    def later(self, seconds: float) -> None:
        """Let time pass, by the clocks of the service and of its databases."""
        self.clock.later(seconds)

    def credential(
        self,
        tenant: str = "acme",
        agent: str | None = None,
        *,
        admin: bool = False,
        scopes: Collection[AccessScope] = READ_WRITE,
    ) -> dict[str, str]:
        now = self.runtime.backends.clock()
        wanted = CredentialWanted(agent, EVERY_SCOPE if admin else scopes)
        token, _ = self.runtime.credentials.mint(tenant, wanted, now)
        return {"Authorization": f"Bearer {token}"}

    async def post(self, path: str, body: Any, *, tenant: str = "acme", **credential: Any) -> httpx.Response:
        return await self.client.post(path, json=body, headers=self.credential(tenant, **credential))

    async def store(self, content: str, *, tenant: str = "acme", agent_id: str = "bot", **fields: Any) -> None:
        """Store a memory, and wait until its vector was sent, which the answer does not."""
        answer = await self.post("/store", {"agent_id": agent_id, "content": content, **fields}, tenant=tenant)
        assert (answer.status_code, answer.json()["stored"]) == (201, True), answer.text
        await self.delivered()

    async def delivered(self) -> None:
        """Wait for the index writes that go on after their requests were answered."""
        await self.runtime.backends.deliveries.settle()

    async def recall(
        self, query: str, *, tenant: str = "acme", agent_id: str = "bot", **fields: Any
    ) -> list[dict[str, Any]]:
        answer = await self.post("/recall", {"agent_id": agent_id, "query": query, **fields}, tenant=tenant)
        assert answer.status_code == 200, answer.text
        entries: list[dict[str, Any]] = answer.json()["entries"]
        return entries

    async def contents(self, query: str, **fields: Any) -> list[str]:
        return [entry["content"] for entry in await self.recall(query, **fields)]

    async def delete(self, memory_id: str, *, tenant: str = "acme", agent_id: str = "bot") -> httpx.Response:
        answer = await self.client.delete(
            f"/memories/{memory_id}", params={"agent_id": agent_id}, headers=self.credential(tenant, admin=True)
        )
        await self.delivered()
        return answer

    async def mcp(
        self, method: str, params: dict[str, Any], *, tenant: str = "acme", agent_id: str = "bot"
    ) -> httpx.Response:
        """Send one message to the MCP server; the agent is named beside the credential."""
        headers = self.credential(tenant) | {"X-Agent-Id": agent_id, "Accept": "application/json"}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await self.client.post("/mcp", json=message, headers=headers)

    async def call(
        self, tool: str, arguments: dict[str, Any], *, tenant: str = "acme", agent_id: str = "bot"
    ) -> httpx.Response:
        """Call a tool of the MCP server, with success."""
        answer = await self.mcp("tools/call", {"name": tool, "arguments": arguments}, tenant=tenant, agent_id=agent_id)
        assert answer.json()["result"]["isError"] is False, answer.text
        return answer


class _GivenSettings(Settings):
    """What is given and nothing else: to look for each setting in the environment takes as long as a short test."""

    def __init__(self, **given: Any) -> None:
        BaseModel.__init__(self, **given)


def settings_for(data_dir: Path, **overrides: Any) -> Settings:
    given = {
        "data_dir": data_dir,
        "embedder": "hashing",
        "reader": "none",
        "auth_secrets": SECRETS,
        "request_wait_seconds": PATIENT,
    }
    return _GivenSettings(**given | overrides)


@asynccontextmanager
async def serving(
    data_dir: Path, *, change: Callable[[Backends], Backends] = replace, on: Backend | None = None, **overrides: Any
) -> AsyncIterator[Service]:
    """Serve the directory's memories; ``change`` may put other ports in the place of the real ones."""
    if on is not None:
        overrides = on.settings(data_dir) | overrides
    migrated.prepare(data_dir)
    clock = clock_of(data_dir)
    settings = settings_for(data_dir, **overrides)
    shards = build_shards(settings)
    built = shards.main
    runtime = Runtime(
        change(replace(built.backends, clock=clock)),
        built.credentials,
        built.metrics,
        name=built.name,
        prepare_index=built.prepare_index,
        closers=built.closers,
        pace=built.pace,
    )
    shards = Shards(runtime, shards.places, shards.open_shard)
    await shards.start()
    readers = MetricsReaders(everyone=settings.metrics == "open", token=settings.metrics_token)
    app = create_app(shards, reports=settings.report_calls, console=session_times(settings), metrics_readers=readers)
    transport = httpx.ASGITransport(app)
    async with (
        _living(app),
        httpx.AsyncClient(transport=transport, base_url="http://service") as client,
    ):
        yield Service(client, runtime, app, shards, clock)


@asynccontextmanager
async def _living(app: FastAPI) -> AsyncIterator[None]:
    """Run the application's lifespan in a task of its own, as a server does: what it opens is closed where it was."""
    started, ending = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            started.set()
            await ending.wait()

    lifespan = asyncio.create_task(live())
    while not started.is_set() and not lifespan.done():
        await asyncio.sleep(0)
    if lifespan.done():
        lifespan.result()
    try:
        yield
    finally:
        ending.set()
        await lifespan
