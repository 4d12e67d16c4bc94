"""Tells a running service statements, and asks it questions."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from app.domain.memory import Scope
from bench.client import HOST
from bench.data import credential

_AT_ONCE = 4
_SECONDS = 120.0
_SETTLED_SECONDS = 10.0
"""What the service reads in the background is read by then."""


@dataclass(frozen=True, slots=True)
class Told:
    """A statement of an agent, and the day on which it was said."""

    agent: str
    text: str
    day: str


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

    def __init__(self, port: int) -> None:
        """Take where it listens."""
        self._client = httpx.AsyncClient(
            base_url=f"http://{HOST}:{port}", timeout=_SECONDS, headers=credential(Scope("reading", ""))
        )
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def tell(self, statements: Sequence[Told]) -> None:
        """Store statements, those of an agent in their order, and wait until they were read."""
        by_agent: dict[str, list[Told]] = {}
        for one in statements:
            by_agent.setdefault(one.agent, []).append(one)
        await asyncio.gather(*map(self._store, by_agent.values()))
        await asyncio.sleep(_SETTLED_SECONDS)

    async def ask(self, questions: Sequence[Asked]) -> list[Answer]:
        """Return the answers in the order of the questions."""
        return list(await asyncio.gather(*map(self._recall, questions)))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _store(self, statements: Sequence[Told]) -> None:
        async with self._turns:
            for one in statements:
                body = {"agent_id": one.agent, "content": one.text, "occurred_at": f"{one.day}T09:00:00Z"}
                await self._post("/store", body)

    async def _recall(self, asked: Asked) -> Answer:
        async with self._turns:
            found = await self._post("/recall", {"agent_id": asked.agent, "query": asked.question, "top_k": 10})
        entries = found["entries"]
        return Answer([entry["content"] for entry in entries], [entry["score"] for entry in entries])

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self._client.post(path, json=body)
        answer.raise_for_status()
        content: dict[str, Any] = answer.json()
        return content
