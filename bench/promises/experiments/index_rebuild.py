"""Memories that no search finds after their index was rebuilt while the service served, on the stand-in account."""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from app.adapters.local.hashing import HashingEmbedder
from app.domain.memory import Scope
from bench.client import HOST
from bench.data import AUTH_SECRETS, credential
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import Handle, running

_CONFIG = HashingEmbedder().config
_TENANT, _AGENT = "acme", "bot"
_BEFORE = 60
"""Memories that are stored before the index is lost; about as many are stored while it is rebuilt."""
_PAUSE_SECONDS = 0.1
_SPEED = 30
"""How many times as fast the account's clock is: what is acknowledged is confirmed after 180 s of it."""
_SECONDS = 8


async def measure(checkout: Checkout) -> list[Measurement]:
    """Lose the index of a running service, rebuild it meanwhile, and ask through the filter of recalls."""
    options = DoubleOptions(
        time_scale=_SPEED, visibility_seconds=(3, 6), metadata_index_seconds=(20, 40), rate_limit=False
    )
    with tempfile.TemporaryDirectory() as folder, running(options) as account:
        settings = _settings(account, Path(folder))
        made_file = Path(folder, "made.env")
        await _command(checkout, settings, "provision", "--yes", "--poll-seconds", "0.2", "--write-env", str(made_file))
        settings |= _made(made_file)
        hidden, stored = await _rebuilt(checkout, settings, account)
    return [Measurement("memories that no search finds after a rebuild while serving", f"of {stored}", hidden, "0")]


async def _rebuilt(checkout: Checkout, settings: Mapping[str, str], account: Handle) -> tuple[int, int]:
    """Return how many memories no search finds though the index has them, and how many there are."""
    headers = credential(Scope(_TENANT, _AGENT))
    async with (
        checkout.serve(Path(settings["DATA_DIR"]), settings) as server,
        httpx.AsyncClient(base_url=f"http://{HOST}:{server.port}", headers=headers, timeout=30) as client,
    ):
        number = 0
        for number in range(_BEFORE):
            await _store(client, number)
        await _vectorize(account, "DELETE", "")
        rebuild = asyncio.create_task(
            _command(checkout, settings, "rebuild", "--yes", "--poll-seconds", "0.2", "--calls-per-minute", "3000")
        )
        while not rebuild.done():
            number += 1
            await _store(client, number)
            await asyncio.sleep(_PAUSE_SECONDS)
        await rebuild
        listed, found = set[str](), set[str]()
        for _ in range(_SECONDS):  # what is delivered late is found
            listed, found = await _searched(account)
            if len(listed) > number and listed == found:
                break
            await asyncio.sleep(1)
        return len(listed - found), number + 1


async def _store(client: httpx.AsyncClient, number: int) -> None:
    answer = await client.post("/store", json={"agent_id": _AGENT, "content": f"memory number {number}"})
    answer.raise_for_status()


async def _searched(account: Handle) -> tuple[set[str], set[str]]:
    """Return the ids that the index has, and those that it finds through recalls' filter, by their own vectors."""
    listed = await _vectorize(account, "GET", "/list?count=1000")
    found: set[str] = set()
    for vector in listed["vectors"]:
        if vector["id"] not in found:
            scope = {"tenant_id": _TENANT, "agent_id": _AGENT}
            question = {"vectorId": vector["id"], "topK": 100, "filter": scope}
            found |= {match["id"] for match in (await _vectorize(account, "POST", "/query", question))["matches"]}
    return {vector["id"] for vector in listed["vectors"]}, found


async def _vectorize(account: Handle, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - as JSON has it
    options = account.double.options
    index = f"{account.cloudflare_url}/accounts/{options.account_id}/vectorize/v2/indexes/{_CONFIG.index_name}"
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {options.api_token}"}, timeout=30) as client:
        return (await client.request(method, f"{index}{path}", json=body)).json()["result"]


def _made(file: Path) -> dict[str, str]:
    """Return the setting that ``provision`` has written: the database that it has made."""
    lines = dict(line.split("=", 1) for line in file.read_text("utf-8").splitlines() if "=" in line)
    return {"CLOUDFLARE_D1_DATABASE_ID": lines["CLOUDFLARE_D1_DATABASE_ID"]}


def _settings(account: Handle, folder: Path) -> dict[str, str]:
    options = account.double.options
    return {
        "CLOUDFLARE_ACCOUNT_ID": options.account_id,
        "CLOUDFLARE_API_TOKEN": options.api_token,
        "CLOUDFLARE_API_BASE_URL": account.cloudflare_url,
        "CLOUDFLARE_CALLS_PER_WINDOW": "0",
        "INDEXER_SECONDS": "0.2",
        "EMBEDDER": "hashing",
        "AUTH_SECRETS": AUTH_SECRETS,
        "DATA_DIR": str(folder),
    }


async def _command(checkout: Checkout, settings: Mapping[str, str], *line: str) -> str:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | dict(settings)
    command = await asyncio.create_subprocess_exec(
        checkout.command, *line, cwd=settings["DATA_DIR"], env=environment, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await command.communicate()
    if command.returncode != 0:
        raise RuntimeError(f"memory-gateway {' '.join(line)} ended with {command.returncode}")
    return output.decode()
