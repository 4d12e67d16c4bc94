"""Calls of Cloudflare that are there and are not made: an idle replica's share, and the time after one refusal."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import httpx

from app.domain.memory import Scope
from bench.client import HOST
from bench.data import AUTH_SECRETS, credential
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.faults import Fault
from memory_gateway_double.server import Handle, running

_INDEX = "lt-memory-hashing-ngrams-v1"
_SETTLED_SECONDS = 35.0
"""By then an idle replica has renewed its share twice."""
_AGENTS = 4
_WATCHED_SECONDS, _CALLS = 60.0, 550
"""The busy replica is asked until it has made so many calls, of 1,080 in five minutes."""
_BLOCK_CAP_SECONDS = 45.0
_TOO_MANY, _OK = 429, 200
_TRIES = 20


async def measure(checkout: Checkout) -> list[Measurement]:
    """Ask one of two replicas, and refuse one call of a third."""
    return [await _beside_an_idle_one(checkout), await _after_a_refusal(checkout)]


async def _beside_an_idle_one(checkout: Checkout) -> Measurement:
    with tempfile.TemporaryDirectory() as folder, running(DoubleOptions()) as account:
        async with AsyncExitStack() as stack:
            settings = _settings(account)
            for name in ("idle", "busy"):
                (Path(folder) / name).mkdir()
                server = await stack.enter_async_context(checkout.serve(Path(folder) / name, settings))
            client = await stack.enter_async_context(_client(server.port))
            await asyncio.sleep(_SETTLED_SECONDS)
            began = sum(account.double.calls().values())
            refused: set[int] = set()
            started, numbers = time.monotonic(), count()

            async def asking() -> None:
                while time.monotonic() < started + _WATCHED_SECONDS:
                    if sum(account.double.calls().values()) - began > _CALLS:
                        return
                    if (await _recall(client, numbers)).status_code == _TOO_MANY:
                        refused.add(int(time.monotonic() - started))
                        await asyncio.sleep(0.5)

            await asyncio.gather(*(asking() for _ in range(_AGENTS)))
    name = "beside an idle replica, 550 of 1,080 calls: seconds with a 429"
    return Measurement(name, "s", float(len(refused)), "0")


async def _after_a_refusal(checkout: Checkout) -> Measurement:
    with tempfile.TemporaryDirectory() as folder, running(DoubleOptions()) as account:
        async with checkout.serve(Path(folder), _settings(account)) as server, _client(server.port) as client:
            numbers = count()
            await _recall(client, numbers)
            blocked = "More than 1200 requests per 300 seconds reached. Please wait and consider throttling your speed"
            body = {"success": False, "errors": [{"code": 971, "message": blocked}], "result": None}
            account.double.faults.add(Fault("d1.query", status=429, body=body, times=1))
            for _ in range(_TRIES):
                if (await _recall(client, numbers)).status_code != _OK:
                    break
            calls, started = account.double.calls(), time.monotonic()
            while account.double.calls() == calls and time.monotonic() < started + _BLOCK_CAP_SECONDS:
                await _recall(client, numbers)
                await asyncio.sleep(0.5)
            seconds = min(_BLOCK_CAP_SECONDS, time.monotonic() - started)
    return Measurement("after one 429 of D1 a call is tried after", "s", seconds, "at most 35")


def _settings(account: Handle) -> dict[str, str]:
    scalars = {"tenant_id": "string", "agent_id": "string", "created_at": "number"}
    account.double.create_index(_INDEX, 384, scalars)
    return {
        "AUTH_SECRETS": AUTH_SECRETS,
        "EMBEDDER": "hashing",
        "CLOUDFLARE_API_BASE_URL": account.cloudflare_url,
        "CLOUDFLARE_ACCOUNT_ID": account.double.options.account_id,
        "CLOUDFLARE_API_TOKEN": account.double.options.api_token,
        "CLOUDFLARE_D1_DATABASE_ID": account.double.create_database("memory"),
        "AUDIT_RECALLS": "false",
    }


def _client(port: int) -> httpx.AsyncClient:
    headers = credential(Scope("tenant", "bot"))
    return httpx.AsyncClient(base_url=f"http://{HOST}:{port}", headers=headers, timeout=30, trust_env=False)


async def _recall(client: httpx.AsyncClient, numbers: Iterator[int]) -> httpx.Response:
    return await client.post("/recall", json={"agent_id": "bot", "query": f"who wants case {next(numbers)}?"})
