"""Memories as the tests store them, and how they look in the file."""

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from app.domain.json_types import to_json
from tests.support.tables import Asked, argument_of, reading

_AT_ONCE = 16


@dataclass(frozen=True, slots=True, order=True)
class Memory:
    """One memory of the tenant ``test``."""

    agent_id: str
    content: str


def made(label: str, number: int) -> Memory:
    """Return a memory unlike any other, of one of four agents."""
    return Memory(f"agent-{number % 4}", f"{label} {number:04} says {number * 2654435761 % 2**32:08x}")


async def store(client: httpx.AsyncClient, memory: Memory) -> httpx.Response:
    """Ask to store."""
    return await client.post("/store", json={"agent_id": memory.agent_id, "content": memory.content})


async def recall(client: httpx.AsyncClient, memory: Memory, *, top_k: int = 1) -> list[dict[str, Any]]:
    """Ask for what is most like the memory."""
    asked = {"agent_id": memory.agent_id, "query": memory.content, "top_k": top_k}
    answer = await client.post("/recall", json=asked)
    assert answer.status_code == 200, answer.text
    entries: list[dict[str, Any]] = answer.json()["entries"]
    return entries


async def forgotten(client: httpx.AsyncClient, memories: Iterable[Memory]) -> list[Memory]:
    """Return those of the memories that their own content does not recall first, with a score of 1."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def found(memory: Memory) -> bool:
        async with room:
            entries = await recall(client, memory)
        return [entry["content"] for entry in entries] == [memory.content] and entries[0]["similarity"] > 0.9999

    asked = list(memories)
    return [memory for memory, was in zip(asked, await asyncio.gather(*map(found, asked)), strict=True) if not was]


def rows(data_dir: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Read the file behind the server's back, changing nothing."""
    address = f"{(data_dir / 'memory.sqlite3').as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        return connection.execute(sql, values).fetchall()


def rows_of(data_dir: Path, table: str, *columns: str, by: str = "", **where: Asked) -> list[tuple[Any, ...]]:
    """Read the rows of a table that have these values, as ``tests.support.tables.rows_of`` does."""
    values = (to_json(argument_of(where)),) if where else ()
    return rows(data_dir, reading(table, columns, by, where), *values)


def held(data_dir: Path) -> list[Memory]:
    """Return every memory the file holds."""
    return [
        Memory(*row) for row in rows_of(data_dir, "long_term_memory", "agent_id", "content", by="agent_id, content")
    ]


def queued(data_dir: Path, operation: str = "upsert") -> int:
    """Count the outbox."""
    return len(rows_of(data_dir, "outbox", "id", operation=operation))


def pass_a_minute(data_dir: Path) -> None:
    """Make everything queued as old as it would be a minute later, and leases too."""
    with closing(sqlite3.connect(data_dir / "memory.sqlite3", timeout=10)) as connection, connection:
        connection.execute("UPDATE outbox SET due_at = due_at - 60000")
        connection.execute("UPDATE lease SET expires_at = expires_at - 60000")


async def outbox_is_empty_in_time(data_dir: Path) -> bool:
    """What was sent without a note of it is sent again after a minute, and forgotten after another."""
    pass_a_minute(data_dir)
    return queued(data_dir, "upsert") + queued(data_dir, "delete") == 0


def halves(data_dir: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return what is in the file without its other half, by what it is, and what SQLite finds damaged."""
    findings = {
        "memory without vector": """
            SELECT id FROM long_term_memory
            WHERE id NOT IN (SELECT id FROM local_vector)
              AND id NOT IN (SELECT id FROM outbox WHERE operation = 'upsert')
        """,
        "vector without memory": """
            SELECT id FROM local_vector
            WHERE id NOT IN (SELECT id FROM long_term_memory)
              AND id NOT IN (SELECT id FROM outbox WHERE operation = 'delete')
        """,
        "queued vector without memory": """
            SELECT id FROM outbox WHERE operation = 'upsert' AND id NOT IN (SELECT id FROM long_term_memory)
        """,
        "damage": "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    }
    return {name: found for name, sql in findings.items() if (found := rows(data_dir, sql))}
