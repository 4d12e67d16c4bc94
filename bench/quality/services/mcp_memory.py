"""mcp-memory-service's HTTP API: POST /api/memories and POST /api/search.

It was held against a stand-in of the published request forms only, never against the real server. A conversation is
a store partition; servers without partitions mix the conversations, which is noticed and refused.
"""

import httpx

from bench.quality.dataset import Memory
from bench.quality.service import Answer, ServiceFailed, ranked
from bench.quality.services.wire import post


class McpMemory:
    """One store partition for each conversation."""

    def __init__(self, client: httpx.AsyncClient, token: str | None) -> None:
        """Take a client of the server's base URL and its API key, where it wants one."""
        self._client = client
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def store(self, namespace: str, memory: Memory) -> None:
        """Store; a conversation's id keeps the server from dropping turns that resemble one another."""
        known = {"turn_id": memory.turn_id, "session_id": memory.session_id, "occurred_at": memory.occurred_at}
        body = {
            "content": memory.content,
            "metadata": {"namespace": namespace} | {name: value for name, value in known.items() if value is not None},
            "conversation_id": namespace,
            "store": namespace,
        }
        answer = await post(self._client, "/api/memories", body, self._headers)
        if not answer.get("success"):  # a refusal comes as 200
            raise ServiceFailed(f"POST /api/memories: {answer.get('message')}")

    async def ready(self, namespace: str) -> None:
        """Return at once: the server writes its index before it answers."""

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        """Search the partition; ``at`` is ignored."""
        del at
        body = {"query": question, "n_results": top_k, "store": namespace}
        results = (await post(self._client, "/api/search", body, self._headers))["results"]
        found = [result["memory"]["metadata"] for result in results]
        if any(metadata.get("namespace") != namespace for metadata in found):
            raise ServiceFailed("the server has no store partitions: it answers from other conversations")
        return Answer(
            ranked([metadata["turn_id"] for metadata in found]),
            top_score=results[0].get("similarity_score") if results else None,
        )
