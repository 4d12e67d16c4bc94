"""Goals 2 and 3: what another tenant notices of one that sends the worst it can, and of connections that flood."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from bench.data import AUTH_SECRETS, Requests
from bench.fairness import attacker, victim
from bench.fairness.adversary import with_metadata
from bench.fairness.goal import Goal
from bench.fairness.victim import Noticed, looking, meanwhile, notice, ordinary
from bench.fairness.wire import Connection
from bench.prefill import prefill
from bench.server import Server, service

_QUIET, _LOUD = 1000, 20_000
_TIMES = 3.0
_LOOK_MS = 1000.0
"""What a look may take during a flood."""
_UNDER_WAY_SECONDS = 5.0
_WARM_UP = 30


@dataclass(frozen=True, slots=True)
class Crowded:
    """A service with a quiet tenant and a loud one, and what the quiet one notices while it is alone."""

    server: Server
    memory_id: str
    idle: Noticed


@asynccontextmanager
async def crowded(directory: Path, embedder: str, seconds: float) -> AsyncIterator[Crowded]:
    """Fill a service of its own for both tenants, and look at it while it is idle."""
    data_dir = Path(mkdtemp(dir=directory))
    await asyncio.to_thread(prefill, data_dir, embedder, [victim.SCOPE], _QUIET)
    await asyncio.to_thread(prefill, data_dir, embedder, [attacker.SCOPE], _LOUD, with_metadata)
    settings = {"DATA_DIR": str(data_dir), "EMBEDDER": embedder, "AUTH_SECRETS": AUTH_SECRETS, "LOG_LEVEL": "error"}
    (first,) = Requests([victim.SCOPE], seed=1).recalls(1)
    async with service(data_dir, settings, first) as server:
        memory_id = await _any_memory(server.port)
        await notice(server.port, ordinary(2), seconds=0, least=_WARM_UP)
        yield Crowded(server, memory_id, await notice(server.port, ordinary(4), seconds=seconds))


async def _any_memory(port: int) -> str:
    """Ask for a memory of the loud tenant, and return its id."""
    (question,) = Requests([attacker.SCOPE], seed=1).recalls(1)
    _, body = await Connection(port).ask(question)
    answer: dict[str, Any] = json.loads(body)
    return str(answer["entries"][0]["id"])


async def crowd(crowded: Crowded, seconds: float) -> list[Goal]:
    """Let one tenant send the worst requests over many connections, and look at what the other notices."""
    async with _attack("crowd", crowded):
        noticed = await notice(crowded.server.port, ordinary(6), seconds=seconds)
    goals = []
    for kind in noticed.seconds:
        idle, busy = crowded.idle.p99(kind), noticed.p99(kind)
        goals.append(
            Goal(
                f"one tenant at 256 connections of the worst requests: another's {kind} p99 within 3 times idle",
                f"{busy:.0f} ms, idle {idle:.0f} ms, {busy / idle:.1f} times; {_told(noticed, kind)}",
                met=busy <= _TIMES * idle and not noticed.failed[kind],
            )
        )
    return goals


async def flood(crowded: Crowded, kind: str, named: str, seconds: float) -> list[Goal]:
    """Flood the service's connections, and look at whether others are answered."""
    async with _attack(kind, crowded):
        noticed = await notice(crowded.server.port, looking(8), seconds=seconds)
    return [
        Goal(
            f"during {named}: {look} p99 within {_LOOK_MS / 1000:.0f} s, none fails",
            f"{noticed.p99(look):.0f} ms; {_told(noticed, look)}; resident {crowded.server.resident():.0f} MB",
            met=noticed.p99(look) <= _LOOK_MS and not noticed.failed[look],
        )
        for look in noticed.seconds
    ]


@asynccontextmanager
async def _attack(kind: str, crowded: Crowded) -> AsyncIterator[None]:
    command = [sys.executable, "-m", "bench.fairness.attacker", kind, str(crowded.server.port), crowded.memory_id]
    async with meanwhile(command):
        await asyncio.sleep(_UNDER_WAY_SECONDS)
        yield


def _told(noticed: Noticed, kind: str) -> str:
    return f"{len(noticed.seconds[kind])} asked, {noticed.failed[kind]} failed"
