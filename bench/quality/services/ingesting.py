"""Memory Gateway's own HTTP API, told conversations by ingesting them."""

import asyncio
from collections import defaultdict

import httpx

from bench.quality.dataset import Memory
from bench.quality.service import Answer, ServiceFailed
from bench.quality.services.gateway import Gateway
from bench.quality.services.wire import get, post

_MAX_MESSAGES = 500
_NO_SESSION = "none"
_POLL_SECONDS = 0.5


class Turns:
    """Which turn a recalled text is, by its agent, its session and what it says: a message takes no metadata."""

    def __init__(self) -> None:
        """Begin with none."""
        self._ids: dict[tuple[str, str, str], str] = {}

    def add(self, namespace: str, memory: Memory) -> None:
        """Note a turn; of those that say the same in a session the first counts."""
        self._ids.setdefault((namespace, memory.session_id or _NO_SESSION, memory.content), memory.turn_id)

    def of(self, namespace: str, session_id: str, content: str) -> str:
        """Return the turn's id."""
        return self._ids[namespace, session_id, content]


class Ingesting(Gateway):
    """One agent for each conversation, of which each session is ingested as a user's messages."""

    def __init__(self, client: httpx.AsyncClient, token: str | None, turns: Turns) -> None:
        """Take a client and a credential as ``Gateway`` does, and what remembers the turns."""
        super().__init__(client, token)
        self._turns = turns
        self._waiting: defaultdict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)

    async def store(self, namespace: str, memory: Memory) -> None:
        """Keep a turn until its session is complete, or too long for one request."""
        self._turns.add(namespace, memory)
        session_id = memory.session_id or _NO_SESSION
        timed = {} if memory.occurred_at is None else {"timestamp": memory.occurred_at}
        waiting = self._waiting[namespace, session_id]
        waiting.append({"role": "user", "content": memory.content, **timed})
        if len(waiting) == _MAX_MESSAGES:
            await self._ingest(namespace, session_id)

    async def ready(self, namespace: str) -> None:
        """Ingest what waits, then wait as ``Gateway`` does."""
        for name, session_id in [key for key in self._waiting if key[0] == namespace]:
            await self._ingest(name, session_id)
        await super().ready(namespace)

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        """Recall."""
        answer = await self.recall(namespace, question, top_k, at)
        found: dict[str, float] = {}
        for entry in answer["entries"]:
            found.setdefault(self._turns.of(namespace, entry["session_id"], entry["content"]), entry["score"])
        scores = tuple(found.values())
        return Answer(tuple(found), answer.get("confidence"), scores[0] if scores else None, scores)

    async def _ingest(self, namespace: str, session_id: str) -> None:
        """Ingest what waits of a session; what takes longer than its request is waited for."""
        body = {"session_id": session_id, "messages": self._waiting.pop((namespace, session_id))}
        answer = await post(self._client, f"/profiles/{namespace}/ingest", body, self._headers)
        while answer.get("status") == "running":
            await asyncio.sleep(_POLL_SECONDS)
            answer = await get(self._client, f"/profiles/{namespace}/operations/{answer['id']}", self._headers)
        if answer.get("status") == "failed" or answer.get("failed"):
            raise ServiceFailed(f"{namespace}: not all of session {session_id} was ingested")
