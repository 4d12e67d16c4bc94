"""What one credential gets stored by each tier of a tenant that may have 100,000 bytes, and what `GET /usage` says."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from app.domain.memory import Scope
from bench.data import AUTH_SECRETS, credential
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement

_QUOTA = 100_000
_BODY = "word " * 6_000
_REQUESTS = 40
_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
_LEAST_STATUS_REFUSED = 300

_Request = Callable[[int], tuple[str, str, Any]]
_TIERS: Mapping[str, _Request] = {
    "tool calls": lambda n: (
        "POST",
        f"/runs/{_RUN}/audit",
        {"calls": [{"tool": "t", "input": f"{n} {_BODY}", "outcome": "ok", "ms": 1}]},
    ),
    "working memory": lambda n: ("PUT", f"/working/bot/i{n}/k", {"value": _BODY}),
    "episodes": lambda n: (
        "POST",
        f"/runs/{_RUN}/episodes",
        {"episodes": [{"type": "note", "content": f"{n} {_BODY}"}]},
    ),
    "workflows": lambda n: ("PUT", f"/workflows/w{n}", {"agent_type": "t", "task_type": "t", "spec": {"a": _BODY}}),
    "shared context": lambda n: ("PUT", f"/context/c{n}", {"content": _BODY}),
    "memories": lambda n: ("POST", "/store", {"agent_id": "bot", "content": f"{n} {_BODY[:8_000]}"}),
}


async def measure(checkout: Checkout) -> list[Measurement]:
    """Send 40 writes of each tier, each tier as a tenant of its own."""
    measured = []
    settings = {"EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS, "TENANT_BYTES": str(_QUOTA)}
    with tempfile.TemporaryDirectory() as directory:
        settings["DATA_DIR"] = directory
        async with (
            checkout.serve(Path(directory), settings) as server,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=30) as client,
        ):
            for number, (tier, request) in enumerate(_TIERS.items()):
                stored, told = await _fill(client, f"tenant{number}", request)
                wanted = f"at most {_QUOTA:,} and one request"
                measured.append(Measurement(f"{tier}: bytes stored", "bytes", stored, wanted))
                measured.append(Measurement(f"{tier}: bytes that /usage tells", "bytes", told, "at least as many"))
    return measured


async def _fill(client: httpx.AsyncClient, tenant: str, request: _Request) -> tuple[int, int]:
    """Return the bytes of the requests that were accepted, and what the tenant is told that it has."""
    headers = credential(Scope(tenant, "bot"), admin=True)
    await client.post(
        "/runs", json={"run_id": _RUN, "agent_id": "bot", "agent_type": "t", "input": None}, headers=headers
    )
    answers = await asyncio.gather(*(_send(client, headers, *request(n)) for n in range(_REQUESTS)))
    usage = (await client.get("/usage", headers=headers)).json()
    return sum(answers), int(usage["tenant"]["bytes"])


async def _send(client: httpx.AsyncClient, headers: Mapping[str, str], method: str, path: str, body: Any) -> int:  # noqa: ANN401
    answer = await client.request(method, path, json=body, headers=headers)
    return len(answer.request.content) if answer.status_code < _LEAST_STATUS_REFUSED else 0
