"""How long an ingestion or an erasure waits for what a process that died, or a clock that was ahead, has left."""

import asyncio
import os
import signal
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx

from app.domain.messages import Message, message_id
from app.domain.moments import wall_clock
from app.services.access.credentials import Credentials
from bench.client import HOST
from bench.data import AUTH_SECRETS, SECRETS
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement

_TENANT, _AGENT, _SESSION = "acme", "bot", "call-17"
_CONTENTS = ("The invoices go to Ann", "The invoices are in Swedish")
_INGESTION = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
_MOST_SECONDS = 40.0
_POLL_SECONDS = 0.1
_DAY_MS = 86_400_000
_STAGED = """
INSERT INTO message (tenant_id, agent_id, id, ingestion_id, place, session_id, role, content, said_at, content_hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ACCEPTED = """
INSERT INTO ingestion (id, tenant_id, agent_id, session_id, accepted_at, messages, written_through)
VALUES (?, ?, ?, ?, ?, ?, 'http')
"""
_LEASED = "INSERT OR REPLACE INTO lease (name, holder, expires_at) VALUES ('indexer', 'a process that is gone', ?)"


async def measure(checkout: Checkout) -> list[Measurement]:
    """Leave what is left in three ways, in databases of their own at the same time, and wait for what it keeps."""
    known, ahead, killed = await asyncio.gather(_ingested(checkout), _ahead(checkout), _killed(checkout))
    unit = "s"
    return [
        Measurement("from the 200 of an ingestion, after another process died staging it, to recall", unit, known, "0"),
        Measurement("until an erasure ends, with a lease a day ahead", unit, ahead, "at most 60"),
        Measurement("until an erasure ends, beside a process killed with the lease", unit, killed, "at most 15"),
    ]


@asynccontextmanager
async def _served(checkout: Checkout, folder: str) -> AsyncIterator[tuple[httpx.AsyncClient, int]]:
    """Serve a data directory; gives a client with all rights, and the process id."""
    settings: Mapping[str, str] = {"DATA_DIR": folder, "EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS}
    token = Credentials(SECRETS).issue(_TENANT, now=wall_clock(), admin=True)
    async with (
        checkout.serve(Path(folder), settings) as server,
        httpx.AsyncClient(
            base_url=f"http://{HOST}:{server.port}", timeout=60, headers={"Authorization": f"Bearer {token}"}
        ) as client,
    ):
        (await client.post("/store", json={"agent_id": _AGENT, "content": "a fox"})).raise_for_status()
        yield client, server.process.pid


async def _ingested(checkout: Checkout) -> float | str:
    """Bring messages that a process had taken which died; return for how long its 200 is not true."""
    with tempfile.TemporaryDirectory() as folder:
        async with _served(checkout, folder) as (client, _):
            _leave_staged(folder)
            messages = [{"role": "user", "content": content} for content in _CONTENTS]
            body = {"session_id": _SESSION, "messages": messages}
            answer = await client.post(f"/profiles/{_AGENT}/ingest", json=body)
            if answer.status_code != httpx.codes.OK:
                return str(answer.status_code)

            async def found() -> bool:
                recalled = await client.post("/recall", json={"agent_id": _AGENT, "query": "invoices", "top_k": 5})
                return set(_CONTENTS) <= {entry["content"] for entry in recalled.json()["entries"]}

            return await _seconds(found)


def _leave_staged(folder: str) -> None:
    """Write what a process leaves that dies between taking messages and saying that it has taken all."""
    with closing(sqlite3.connect(Path(folder, "memory.sqlite3"))) as file, file:
        file.execute(_ACCEPTED, (_INGESTION, _TENANT, _AGENT, _SESSION, wall_clock(), len(_CONTENTS)))
        for place, content in enumerate(_CONTENTS):
            said = Message(message_id(_SESSION, "user", content), _SESSION, "user", content, 1_000_000 + place)
            own = (_TENANT, _AGENT, said.id, _INGESTION, place, _SESSION, said.role, content, said.said_at)
            file.execute(_STAGED, (*own, said.content_hash))


async def _ahead(checkout: Checkout) -> float | str:
    """Erase an agent while the indexer's lease is a day ahead, as a clock leaves it that was."""
    with tempfile.TemporaryDirectory() as folder:
        async with _served(checkout, folder) as (client, _):
            with closing(sqlite3.connect(Path(folder, "memory.sqlite3"))) as file, file:
                file.execute(_LEASED, (wall_clock() + _DAY_MS,))
            return await _erased(client)


async def _killed(checkout: Checkout) -> float | str:
    """Erase an agent beside a process that was killed while it had the lease."""
    with tempfile.TemporaryDirectory() as folder:
        async with _served(checkout, folder) as (_, pid):

            async def leased() -> bool:
                return bool(_rows(folder, "SELECT holder FROM lease"))

            await _seconds(leased)
            async with _served(checkout, folder) as (other, _):
                os.kill(pid, signal.SIGKILL)
                return await _erased(other)


def _rows(folder: str, sql: str) -> Sequence[tuple[object, ...]]:
    with closing(sqlite3.connect(Path(folder, "memory.sqlite3"))) as file:
        return file.execute(sql).fetchall()


async def _erased(client: httpx.AsyncClient) -> float | str:
    """Return how long an erasure takes until its receipt."""
    operation = (await client.delete(f"/agents/{_AGENT}")).json()

    async def ended() -> bool:
        return bool((await client.get(f"/operations/{operation['id']}")).json().get("receipt"))

    return await _seconds(ended)


async def _seconds(condition: Callable[[], Awaitable[bool]]) -> float | str:
    """Return after how many seconds something is so, at most so many."""
    began = time.monotonic()
    while not await condition():
        if time.monotonic() - began > _MOST_SECONDS:
            return f"over {_MOST_SECONDS:.0f}"
        await asyncio.sleep(_POLL_SECONDS)
    return time.monotonic() - began
