"""What agents wait for while a service that the gateway calls hangs, on the stand-in account."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
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

_MOST_SECONDS = 6.0
"""Who has waited for so long waits no longer."""
_FIRST = 3
_APART_SECONDS = 1.2
"""Between two of them: what comes sooner shares a call."""
_MANY = 130
_STORE_SECONDS = 10.5
"""After that the embedder's calls for stores have timed out."""
_STARTS = 100
_CLOSES_SECONDS = 5.5
_INDEX = "lt-memory-openai-text-embedding-3-small-256"
_SECONDS = "s"

Ask = Callable[[], Awaitable[httpx.Response]]


async def measure(checkout: Checkout) -> list[Measurement]:
    """Let one service after the other hang, and time what agents ask meanwhile."""
    with tempfile.TemporaryDirectory() as folder, running(DoubleOptions(rate_limit=False)) as account:
        async with _serving(checkout, account, Path(folder)) as client:
            return await _measured(_Agents(client), account)


class _Agents:
    """Asks as agents do, never the same twice."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._numbers = count()

    async def store(self, agent_id: str = "bot") -> httpx.Response:
        content = f"The customer prefers invoices in Swedish, case {next(self._numbers)}"
        return await self._client.post("/store", json={"agent_id": agent_id, "content": content})

    async def recall(self) -> httpx.Response:
        body = {"agent_id": "bot", "query": f"who wants case {next(self._numbers)}?"}
        return await self._client.post("/recall", json=body)

    async def ask_profile(self) -> httpx.Response:
        query = f"What does the customer prefer, case {next(self._numbers)}?"
        return await self._client.post("/profiles/bot/recall", json={"query": query, "thinking_level": "high"})

    async def blob(self) -> httpx.Response:
        return await self._client.post("/blobs", params={"agent_id": "bot"}, content=b"bytes")


async def _measured(agents: _Agents, account: Handle) -> list[Measurement]:
    await agents.store()
    figures: list[Measurement] = []
    with _Hanging(account, "openai.chat"), _Hanging(account, "r2.put"):
        rows = await asyncio.gather(
            _row("language model hangs: profile recall", agents.ask_profile), _row("R2 hangs: blob", agents.blob)
        )
        figures += [figure for row in rows for figure in row]
    with _Hanging(account, "vectorize.query"):
        figures += await _row("Vectorize hangs: recall", agents.recall)
    await asyncio.sleep(_CLOSES_SECONDS)
    await agents.recall()
    with _Hanging(account, "vectorize.query"):
        figures.append(await _among_many(agents))
    with _Hanging(account, "vectorize.upsert"):
        figures.append(_figure("upserts hang: store", await _seconds(agents.store), "at once"))
    with _Hanging(account, "openai.embeddings"):
        figures += await _row("OpenAI hangs: recall", agents.recall)
        waiting = []
        for _ in range(_FIRST):
            waiting.append(asyncio.create_task(agents.store()))
            await asyncio.sleep(_APART_SECONDS)
        await asyncio.sleep(_STORE_SECONDS)
        for store in waiting:
            store.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        figures.append(_figure("OpenAI hangs: store after three", await _seconds(agents.store), "refused at once"))
    return figures


async def _row(name: str, ask: Ask) -> list[Measurement]:
    """Ask three times, then once more."""
    first = max(await asyncio.gather(*(_seconds(ask, begin=_APART_SECONDS * n) for n in range(_FIRST))))
    later = await _seconds(ask)
    return [_figure(f"{name}, the first", first, "a few seconds"), _figure(f"{name}, the next", later, "at once")]


async def _among_many(agents: _Agents) -> Measurement:
    recalls = [asyncio.create_task(_seconds(agents.recall)) for _ in range(_MANY)]
    await asyncio.sleep(1)
    store = await _seconds(lambda: agents.store("other"))
    for recall in recalls:
        recall.cancel()
    await asyncio.gather(*recalls, return_exceptions=True)
    return _figure(f"{_MANY} recalls hang at Vectorize: another agent's store", store, "at once")


async def _seconds(ask: Ask, *, begin: float = 0.0) -> float:
    """Return how long an answer took, whatever it was; infinity if it took too long. ``begin``: after so long."""
    await asyncio.sleep(begin)
    started = time.perf_counter()
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            await ask()
    except TimeoutError:
        return float("inf")
    return time.perf_counter() - started


def _figure(name: str, seconds: float, wanted: str) -> Measurement:
    return Measurement(name, _SECONDS, f">{_MOST_SECONDS:.0f}" if seconds > _MOST_SECONDS else seconds, wanted)


class _Hanging:
    """Answers no call of an operation while it is entered."""

    def __init__(self, account: Handle, operation: str) -> None:
        self._account = account
        self._operation = operation

    def __enter__(self) -> None:
        self._account.double.faults.add(Fault(self._operation, kind="hang", times=None))

    def __exit__(self, *_: object) -> None:
        self._account.double.faults.clear()


@asynccontextmanager
async def _serving(checkout: Checkout, account: Handle, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    double, options = account.double, account.double.options
    double.create_index(_INDEX, 256, {"tenant_id": "string", "agent_id": "string", "created_at": "number"})
    settings = {
        "CLOUDFLARE_ACCOUNT_ID": options.account_id,
        "CLOUDFLARE_API_TOKEN": options.api_token,
        "CLOUDFLARE_API_BASE_URL": account.cloudflare_url,
        "CLOUDFLARE_D1_DATABASE_ID": double.create_database("hanging"),
        "CLOUDFLARE_CALLS_PER_WINDOW": "0",
        "R2_BUCKET": options.r2_bucket,
        "R2_ACCESS_KEY_ID": options.r2_access_key_id,
        "R2_SECRET_ACCESS_KEY": options.r2_secret_access_key,
        "R2_ENDPOINT": account.r2_url,
        "EMBEDDER": "openai",
        "EMBEDDING_DIMENSIONS": "256",
        "OPENAI_BASE_URL": account.openai_url,
        "OPENAI_API_KEY": options.openai_api_key,
        "LANGUAGE_MODEL": "openai",
        "LANGUAGE_MODEL_NAME": "small",
        "AUTH_SECRETS": AUTH_SECRETS,
    }
    headers = credential(Scope("acme", "bot"))
    limits = httpx.Limits(max_connections=2 * _MANY)
    async with checkout.serve(folder, settings) as server:
        url = f"http://{HOST}:{server.port}"
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, limits=limits) as client:
            for _ in range(_STARTS):
                if (await client.get("/readyz")).status_code == httpx.codes.OK:
                    break
                await asyncio.sleep(0.2)
            yield client
