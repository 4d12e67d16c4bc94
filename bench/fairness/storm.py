"""Goal 1: hostile requests on every route neither hold up the event loop nor stay in memory."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from app.domain.memory import Scope
from bench.data import AUTH_SECRETS, Requests
from bench.fairness.adversary import hostile
from bench.fairness.goal import Goal
from bench.fairness.wire import REFUSED, Connection
from bench.server import Server, service

_CONNECTIONS = 16
_TENANTS = 4
_STALL_SECONDS, _GROWTH_MB, _BACK_SECONDS = 0.05, 256.0, 60.0
_BACK_MB = 64.0
"""What may stay: caches of queries and of vectors, which have budgets of their own."""
_WARM_UP = 200
_SERVER_ERRORS = range(500, 600)
_UNAVAILABLE = 503


@dataclass(slots=True)
class _Sent:
    statuses: Counter[int]
    slowest: tuple[float, str] = (0.0, "")


async def storm(directory: Path, requests: int, embedder: str) -> list[Goal]:
    """Send so many hostile requests to a service of its own, and look at its loop and its memory."""
    data_dir, stalls = directory / "storm", directory / "stalls.jsonl"
    data_dir.mkdir()
    stalls.touch()
    settings = {"DATA_DIR": str(data_dir), "EMBEDDER": embedder, "AUTH_SECRETS": AUTH_SECRETS, "LOG_LEVEL": "error"}
    scopes = [Scope(f"hostile-{number}", "bot") for number in range(_TENANTS)]
    ordinary = Requests(scopes, seed=1)
    (first,) = ordinary.recalls(1)
    async with service(data_dir, settings, first, stalls=stalls) as server:
        await server.cost([*ordinary.stores(_WARM_UP), *ordinary.recalls(_WARM_UP)])
        before, at_start = server.resident(), len(stalls.read_text("utf-8").splitlines())
        started = time.monotonic()
        sent, most = await _send_all(server, scopes, requests)
        took = time.monotonic() - started
        end, back, waited = server.resident(), server.resident(), 0.0
        while back > before + _BACK_MB and waited < _BACK_SECONDS:
            await asyncio.sleep(1)
            back, waited = server.resident(), waited + 1
    lines = [json.loads(line) for line in stalls.read_text("utf-8").splitlines()[at_start:]]
    longest = max(lines, key=_seconds, default=None)
    failed = sum(number for status, number in sent.statuses.items() if status in _SERVER_ERRORS)
    unavailable, refused = sent.statuses[_UNAVAILABLE], sent.statuses[REFUSED]
    slowest = f"slowest {sent.slowest[0]:.1f} s {sent.slowest[1]}"
    told = f"{requests:,} hostile requests ({embedder}, {took:.0f} s, {slowest})"
    stalled = _seconds(longest) * 1000 if longest else 0.0
    what = f"; {str(longest['step'])[:200]}" if longest and stalled > _STALL_SECONDS * 1000 else ""
    with_host = max((line["seconds"] for line in lines), default=0.0) * 1000
    what += f"; with what the host took meanwhile, at most {with_host:.0f} ms" if with_host > stalled else ""
    return [
        Goal(
            f"{told}: longest step of the event loop at most {_STALL_SECONDS * 1000:.0f} ms of CPU",
            f"{stalled:.0f} ms{what}" if longest else "below 30 ms",
            met=stalled <= _STALL_SECONDS * 1000,
        ),
        Goal(
            "the same: no answer is a failure of the service but 503",
            f"{failed - unavailable} others, {unavailable} times 503, {refused} connections closed",
            met=failed == unavailable,
        ),
        Goal(
            f"the same: resident memory at the end at most {_GROWTH_MB:.0f} MB above the start",
            f"{before:.0f} MB, at most {most:.0f}, at the end {end:.0f}",
            met=end <= before + _GROWTH_MB,
        ),
        Goal(
            f"the same: within a minute at most {_BACK_MB:.0f} MB above the start",
            f"{back:.0f} MB after {waited:.0f} s",
            met=back <= before + _BACK_MB,
        ),
    ]


async def _send_all(server: Server, scopes: list[Scope], requests: int) -> tuple[_Sent, float]:
    """Send the requests, each tenant's in its own order; return what was answered, and the most memory seen."""
    sent, most = _Sent(Counter()), server.resident()
    each = requests // _CONNECTIONS
    async with asyncio.TaskGroup() as group:
        for number in range(_CONNECTIONS):
            made = islice(hostile(scopes[number % len(scopes)], seed=number), each)
            group.create_task(_send(server.port, made, sent))
        watching = group.create_task(_watch(server, requests, sent))
    most = max(most, watching.result())
    return sent, most


async def _send(port: int, made: Iterator[tuple[str, bytes]], sent: _Sent) -> None:
    connection = Connection(port)
    for name, request in made:
        started = time.perf_counter()
        status, _ = await connection.ask(request)
        sent.statuses[status] += 1
        sent.slowest = max(sent.slowest, (time.perf_counter() - started, name))
    connection.close()


async def _watch(server: Server, requests: int, sent: _Sent) -> float:
    """Look at the memory until all is answered; return the most."""
    most = 0.0
    while sent.statuses.total() < requests // _CONNECTIONS * _CONNECTIONS:
        most = max(most, server.resident())
        await asyncio.sleep(1)
    return most


def _seconds(stall: dict[str, float]) -> float:
    """Return what a step took, without what the host took from the machine meanwhile."""
    return max(0.0, stall["seconds"] - stall["stolen"])
