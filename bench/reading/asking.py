"""Tells a running service statements, and asks it questions."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from app.domain.memory import Scope
from bench.client import HOST, get
from bench.data import AUTH_SECRETS, credential
from bench.reading.figure import Figure, share
from bench.server import WINDOWS, Server, service

_AT_ONCE = 2
"""Requests under way: the reader answers each within its deadline then."""
_SECONDS = 120.0
TRIES, _PAUSE = 20, 0.5
"""A recall that lacks a part is made so often, with pauses: how busy the machine is, is not what is measured."""
_UNLIMITED = {f"{of}_{what}_PER_MINUTE": "1000000" for of in ("TENANT", "AGENT") for what in ("STORES", "RECALLS")}


@dataclass(frozen=True, slots=True)
class Target:
    """A service to start: the value of ``READER``, and the checkout whose code runs."""

    reader: str
    checkout: Path


@dataclass(frozen=True, slots=True)
class Told:
    """A statement of an agent, the day on which it was said (None: when it is stored), and its session."""

    agent: str
    text: str
    day: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to an agent."""

    agent: str
    question: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a recall gave, best first."""

    texts: Sequence[str]
    scores: Sequence[float]

    def place(self, texts: Iterable[str]) -> int:
        """Return the place of the first of these texts, from 0; behind all where none is there."""
        return min((self.texts.index(text) for text in texts if text in self.texts), default=len(self.texts) + 1)


class Asking:
    """Stores and recalls at a service."""

    def __init__(self, server: Server, client: httpx.AsyncClient) -> None:
        """Take the server, and a client of it with a credential."""
        self.server = server
        self._client = client
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._recalls = self._degraded = 0

    async def tell(self, statements: Sequence[Told], *, windows: int = WINDOWS) -> None:
        """Store statements, those of an agent in their order, and wait until the service rests (``Server.rest``)."""
        by_agent: dict[str, list[Told]] = {}
        for one in statements:
            by_agent.setdefault(one.agent, []).append(one)
        await asyncio.gather(*map(self.store, by_agent.values()))
        await self.server.rest(windows)

    async def ask(self, questions: Sequence[Asked], *, tries: int = TRIES) -> list[Answer]:
        """Return the answers in the order of the questions; ask so often where the reader has had no time to read."""
        return list(await asyncio.gather(*(self._recall(one, tries) for one in questions)))

    def degraded(self) -> Figure:
        """Return how many of the recalls had to do without a part of what answers, such as the reader."""
        return share("recalls without the reader or another part", self._degraded, self._recalls)

    async def store(self, statements: Sequence[Told]) -> None:
        """Store statements in their order."""
        for one in statements:
            body: dict[str, Any] = {"agent_id": one.agent, "content": one.text}
            if one.day is not None:
                body["occurred_at"] = f"{one.day}T09:00:00Z"
            if one.session is not None:
                body["session_id"] = one.session
            await self._post("/store", body)

    async def _recall(self, asked: Asked, tries: int) -> Answer:
        body = {"agent_id": asked.agent, "query": asked.question, "top_k": 10}
        found = await self._post("/recall", body)
        for _ in range(tries - 1):
            if "degraded" not in found:
                break
            await asyncio.sleep(_PAUSE)
            found = await self._post("/recall", body)
        self._recalls += 1
        self._degraded += "degraded" in found
        entries = found["entries"]
        return Answer([entry["content"] for entry in entries], [entry["score"] for entry in entries])

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        async with self._turns:
            answer = await self._client.post(path, json=body)
        answer.raise_for_status()
        content: dict[str, Any] = answer.json()
        return content


@asynccontextmanager
async def serving(target: Target) -> AsyncIterator[Asking]:
    """Serve an empty store until the block ends; raises ``ServerFailed`` where the server does not start."""
    with TemporaryDirectory(prefix="reading-") as directory:
        settings = {
            "DATA_DIR": directory,
            "EMBEDDER": "local",
            "AUTH_SECRETS": AUTH_SECRETS,
            "READER": target.reader,
            **_UNLIMITED,
        }
        async with (
            service(Path(directory), settings, get("/healthz", {}), checkout=target.checkout) as server,
            httpx.AsyncClient(
                base_url=f"http://{HOST}:{server.port}", timeout=_SECONDS, headers=credential(Scope("reading", ""))
            ) as client,
        ):
            yield Asking(server, client)
