"""Memory Gateway's own HTTP API."""

import asyncio
import time
from typing import Any

import httpx

from bench.quality.dataset import Memory
from bench.quality.service import Answer, ServiceFailed
from bench.quality.services.wire import post

_READY_SECONDS = 1800.0
_POLL_SECONDS = 0.5
_READER_AWAY = "reader_unavailable"
"""What ``degraded`` of an answer says of it."""


class Gateway:
    """One agent for each conversation."""

    def __init__(self, client: httpx.AsyncClient, token: str | None) -> None:
        """Take a client of the service's base URL and a credential of any tenant."""
        self._client = client
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def store(self, namespace: str, memory: Memory) -> None:
        """Store; the turn's id is its only metadata."""
        optional = {"session_id": memory.session_id, "occurred_at": memory.occurred_at}
        body = {
            "agent_id": namespace,
            "content": memory.content,
            "metadata": {"turn_id": memory.turn_id},
            **{name: value for name, value in optional.items() if value is not None},
        }
        await post(self._client, "/store", body, self._headers)

    async def ready(self, namespace: str) -> None:
        """Wait until a recall compares with everything, however much waits in the outbox."""
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            body = {"agent_id": namespace, "query": "ready?", "top_k": 1}
            answer = await post(self._client, "/recall", body, self._headers)
            if not answer.get("degraded"):
                return
            if time.monotonic() > deadline:
                raise ServiceFailed(f"{namespace} is still {answer['degraded']} after {_READY_SECONDS:.0f} seconds")
            await asyncio.sleep(_POLL_SECONDS)

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        """Recall; where the reader has no time, ask again: what is measured is not how busy the machine is."""
        answer = await self.recall(namespace, question, top_k, at)
        deadline = time.monotonic() + _READY_SECONDS
        while _READER_AWAY in answer.get("degraded", ()):
            if time.monotonic() > deadline:
                raise ServiceFailed(f"the reader does not answer within {_READY_SECONDS:.0f} seconds")
            await asyncio.sleep(_POLL_SECONDS)
            answer = await self.recall(namespace, question, top_k, at)
        found: dict[str, float] = {}
        for entry in answer["entries"]:
            found.setdefault(entry["metadata"]["turn_id"], entry["score"])
        scores = tuple(found.values())
        return Answer(tuple(found), answer.get("confidence"), scores[0] if scores else None, scores)

    async def recall(self, namespace: str, question: str, top_k: int, at: str | None) -> dict[str, Any]:
        """Ask ``POST /recall``."""
        body: dict[str, object] = {"agent_id": namespace, "query": question, "top_k": top_k}
        if at is not None:
            body["reference_time"] = at
        return await post(self._client, "/recall", body, self._headers)
