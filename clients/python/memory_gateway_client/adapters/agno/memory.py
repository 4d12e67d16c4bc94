"""The memory of an agent of Agno: a retriever, asked before each turn, and a hook, which keeps what was said."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

from agno.run.agent import RunOutput

from memory_gateway_client import AsyncMemoryClient, MemoryClient, MemoryGatewayError
from memory_gateway_client.adapters.asking import Asking, OnOutage
from memory_gateway_client.adapters.conversations import Said, remember
from memory_gateway_client.adapters.naming import agent_name, session_name
from memory_gateway_client.adapters.recalling import MIN_SCORE, TOP_K, Recalling
from memory_gateway_client.adapters.texts import NOTICE, line, unavailable

T = TypeVar("T")

AgentOf: TypeAlias = Callable[[str], str]
"""Takes a user's id, and returns the agent whose memories are the user's."""

agent_of_user: AgentOf = agent_name
"""Gives each user an agent of the user's name, or a hash where that is no name."""


class AgentMemory:
    """Gives an agent a memory that arrives by itself.

    ::

        memory = AgentMemory(client)
        Agent(knowledge_retriever=memory.retriever, add_knowledge_to_context=True, post_hooks=[memory.keep])

    One may serve many agents, users and sessions at once. A failure of the service ends no run: the model is told.
    """

    def __init__(
        self,
        client: MemoryClient | AsyncMemoryClient,
        *,
        agent_of: AgentOf = agent_of_user,
        top_k: int = TOP_K,
        min_score: float = MIN_SCORE,
        on_outage: OnOutage | None = None,
    ) -> None:
        """Set it up; nothing is sent yet.

        Args:
            client: What asks: an ``AsyncMemoryClient`` for ``Agent.arun``, a ``MemoryClient`` for ``Agent.run``.
            agent_of: Says whose memories a user's are. A run without a user is of the client's own agent.
            top_k: The most memories of a turn, 1 to 19.
            min_score: The least score of one, 0 to 1.
            on_outage: Is told once when the service is away; else the log is, as a warning.
        """
        self._client = client
        self._agent_of = agent_of
        self._asking = Asking(client, logging.getLogger(__name__), on_outage=on_outage)
        self._recalling = Recalling(self._asking, top_k=top_k, min_score=min_score)

    @property
    def retriever(self) -> Callable[..., Any]:
        """What finds memories, for ``knowledge_retriever``: a notice and quotations, or why there is no answer."""
        return self._found if isinstance(self._client, AsyncMemoryClient) else self._found_waiting

    @property
    def keep(self) -> Callable[..., Any]:
        """What makes memories of a run's input and answer, as one of ``post_hooks``; the same again changes nothing."""
        return self._kept if isinstance(self._client, AsyncMemoryClient) else self._kept_waiting

    async def _found(
        self, query: str, num_documents: int | None = None, user_id: str | None = None, **_: object
    ) -> list[str] | None:
        found = await self._recalling.entries(query, self._agent(user_id))
        if isinstance(found, MemoryGatewayError):
            return [unavailable(found)]
        return [NOTICE, *map(line, found[:num_documents])] if found else None

    def _found_waiting(
        self, query: str, num_documents: int | None = None, user_id: str | None = None, **_: object
    ) -> list[str] | None:
        return _waited(self._found(query, num_documents, user_id))

    async def _kept(self, run_output: RunOutput, user_id: str | None = None) -> None:
        asked = "" if run_output.input is None else run_output.input.input_content_string()
        answered = run_output.content if isinstance(run_output.content, str) else ""
        said = [Said("user", asked), Said("assistant", answered)]
        session = session_name(run_output.session_id or "agno")
        await remember(self._asking, said, agent_id=self._agent(user_id), session_id=session)

    def _kept_waiting(self, run_output: RunOutput, user_id: str | None = None) -> None:
        _waited(self._kept(run_output, user_id))

    def _agent(self, user_id: str | None) -> str:
        if user_id is not None:
            return self._agent_of(user_id)
        if self._client.agent_id is None:
            raise ValueError("No agent: run with user_id=, or give the client an agent.")
        return self._client.agent_id


def _waited(running: Coroutine[Any, Any, T]) -> T:
    """Wait for it in a thread of its own: this one may have an event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, running).result()
