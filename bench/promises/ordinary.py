"""What an ordinary store and an ordinary recall cost now, over what they cost before: both services in turn."""

import asyncio
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.client import drive
from bench.data import AUTH_SECRETS, Requests, one_agent
from bench.promises.checkout import Checkout
from bench.server import Server

_MEMORIES, _ROUNDS, _STORES, _RECALLS = 2000, 15, 300, 300
_SEED = 5
_SETTINGS = {
    "EMBEDDER": "hashing",
    "AUTH_SECRETS": AUTH_SECRETS,
    "TENANT_STORES_PER_MINUTE": "1000000",
    "AGENT_STORES_PER_MINUTE": "1000000",
}


async def ratios(before: Checkout, now: Checkout) -> list[tuple[str, ...]]:
    """Return rows of the table: the CPU milliseconds before and now (medians), and the median of the rounds' ratios.

    Each round sends both services the same requests, the one that goes first being another each time.
    """
    with TemporaryDirectory() as old, TemporaryDirectory() as new:
        async with (
            before.serve(Path(old), {**_SETTINGS, "DATA_DIR": old}) as first,
            now.serve(Path(new), {**_SETTINGS, "DATA_DIR": new}) as second,
        ):
            requests = Requests(one_agent(), seed=_SEED)
            stored = requests.stores(_MEMORIES)
            await asyncio.gather(drive(first.port, stored), drive(second.port, stored))
            recalls = [await _round((first, second), requests.recalls(_RECALLS), turn) for turn in range(_ROUNDS)]
            stores = [await _round((first, second), requests.stores(_STORES), turn) for turn in range(_ROUNDS)]
    return [_row("ordinary recall", recalls), _row("ordinary store", stores)]


async def _round(servers: tuple[Server, Server], requests: list[bytes], turn: int) -> tuple[float, float]:
    costs = {}
    for server in servers if turn % 2 else reversed(servers):
        costs[server.port] = await server.cost(requests)
    before, now = servers
    return costs[before.port], costs[now.port]


def _row(name: str, rounds: list[tuple[float, float]]) -> tuple[str, ...]:
    before, now = (median(values) for values in zip(*rounds, strict=True))
    ratio = median(new / old for old, new in rounds)
    return (
        f"{name}, hashing, {_MEMORIES:,} memories",
        "ms CPU",
        f"{before:.2f}",
        f"{now:.2f} ({ratio:.3f})",
        "at most 1.02",
    )
