"""mem0's self-hosted REST server, as its documentation describes it: POST /memories and POST /search.

It was held against a stand-in of that description only, never against the real server. ``infer`` is false, so that
each turn is stored as it is, without a language model. Servers of before 2026 ignore ``infer`` and ``top_k``.
"""

import httpx

from bench.quality.dataset import Memory
from bench.quality.service import Answer, ranked
from bench.quality.services.wire import post


class Mem0:
    """One user for each conversation."""

    def __init__(self, client: httpx.AsyncClient, token: str | None) -> None:
        """Take a client of the server's base URL and its API key, where it wants one."""
        self._client = client
        self._headers = {} if token is None else {"X-API-Key": token}

    async def store(self, namespace: str, memory: Memory) -> None:
        """Store; what mem0 has no field for goes to the metadata."""
        known = {"turn_id": memory.turn_id, "session_id": memory.session_id, "occurred_at": memory.occurred_at}
        body = {
            "messages": [{"role": "user", "content": memory.content}],
            "user_id": namespace,
            "metadata": {name: value for name, value in known.items() if value is not None},
            "infer": False,
        }
        await post(self._client, "/memories", body, self._headers)

    async def ready(self, namespace: str) -> None:
        """Return at once: the server writes its index before it answers."""

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        """Search, without a least score; ``at`` is ignored."""
        del at
        body = {"query": question, "filters": {"user_id": namespace}, "top_k": top_k, "threshold": 0.0}
        results = (await post(self._client, "/search", body, self._headers))["results"]
        return Answer(
            ranked([result["metadata"]["turn_id"] for result in results]),
            top_score=results[0].get("score") if results else None,
        )
