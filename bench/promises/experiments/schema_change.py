"""What a running replica answers after a newer version has changed the schema under it."""

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import httpx

from app.domain.memory import Scope
from bench.client import HOST
from bench.data import AUTH_SECRETS, credential
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement

_SECONDS = 15.0
_PAUSE_SECONDS = 0.2
_NEXT = (
    "ALTER TABLE long_term_memory RENAME COLUMN session_id TO conversation_id",
    "INSERT INTO d1_migrations (name) VALUES ('9999_next.sql')",
)
"""What a migration of a newer version does that code before it cannot run beside."""


async def measure(checkout: Checkout) -> list[Measurement]:
    """Store once every 0.2 s for 15 s after the change, and ask whether the replica is ready."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"DATA_DIR": folder, "EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS}
        async with (
            checkout.serve(Path(folder), settings) as server,
            httpx.AsyncClient(
                base_url=f"http://{HOST}:{server.port}", headers=credential(Scope("acme", "bot")), timeout=30
            ) as client,
        ):
            await _store(client, 0)
            _change(Path(folder))
            failed, ready = await _watched(client)
    return [
        Measurement("seconds of 500 after a newer version changed the schema", f"s of {_SECONDS:.0f}", failed, "0"),
        Measurement("/readyz after a newer version changed the schema", "status", str(ready), "503"),
    ]


async def _watched(client: httpx.AsyncClient) -> tuple[float, int]:
    """Return for how long stores were answered with 500, and what readiness says in the end."""
    started, failed, number = time.monotonic(), 0.0, 0
    while time.monotonic() < started + _SECONDS:
        number += 1
        began = time.monotonic()
        status = await _store(client, number)
        await asyncio.sleep(_PAUSE_SECONDS)
        if status == httpx.codes.INTERNAL_SERVER_ERROR:
            failed += time.monotonic() - began
    return failed, (await client.get("/readyz")).status_code


async def _store(client: httpx.AsyncClient, number: int) -> int:
    body = {"agent_id": "bot", "content": f"memory number {number}"}
    return (await client.post("/store", json=body)).status_code


def _change(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "memory.sqlite3", timeout=10)) as connection, connection:
        for statement in _NEXT:
            connection.execute(statement)
