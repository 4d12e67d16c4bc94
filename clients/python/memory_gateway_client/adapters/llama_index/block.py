"""A block of LlamaIndex's memory: what is put into it is ingested, and each turn gets what was recalled for it."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock, Memory
from pydantic import PrivateAttr
from typing_extensions import override

from memory_gateway_client import AsyncMemoryClient, MemoryClient
from memory_gateway_client.adapters.asking import Asking, OnOutage
from memory_gateway_client.adapters.conversations import Said, remember
from memory_gateway_client.adapters.naming import session_name
from memory_gateway_client.adapters.recalling import MIN_SCORE, TOP_K, Recalling

_SESSION = "session_id"
"""Where LlamaIndex notes, in a message that it puts into a block, which session it is of."""


class MemoryGatewayBlock(BaseMemoryBlock[str]):
    """Long-term memory as a block of a ``Memory``: its text is what was recalled for the user's last message.

    A failure of the service ends no run: the text then says that the memory is unavailable.
    """

    name: str = "long_term_memory"
    _asking: Asking = PrivateAttr()
    _recalling: Recalling = PrivateAttr()
    _agent_id: str = PrivateAttr()

    def __init__(
        self,
        client: MemoryClient | AsyncMemoryClient,
        *,
        agent_id: str | None = None,
        top_k: int = TOP_K,
        min_score: float = MIN_SCORE,
        on_outage: OnOutage | None = None,
        strict: bool = False,
        **block: Any,  # noqa: ANN401 - the fields of the block
    ) -> None:
        """Set it up; nothing is sent yet.

        Args:
            client: What asks; a ``MemoryClient`` where the memory is used without ``await``.
            agent_id: Whose memories they are; None: of the client's agent.
            top_k: The most memories of a turn, 1 to 19.
            min_score: The least score of one, 0 to 1.
            on_outage: Is told once when the service is away; else the log is, as a warning.
            strict: Whether a failure is raised.
            block: ``name``, ``description``, ``priority`` and ``accept_short_term_memory``, as every block has them.

        Raises:
            ValueError: no agent is named.
        """
        super().__init__(**block)
        agent = agent_id or client.agent_id
        if agent is None:
            raise ValueError("No agent: say agent_id=, or give the client one.")
        self._agent_id = agent
        self._asking = Asking(client, logging.getLogger(__name__), on_outage=on_outage, strict=strict)
        self._recalling = Recalling(self._asking, top_k=top_k, min_score=min_score)

    async def keep(self, messages: Sequence[ChatMessage], session_id: str) -> None:
        """Make a memory of each text that the user and the assistant have said; the same again changes nothing."""
        session = session_name(session_id)
        await remember(self._asking, _said(messages), agent_id=self._agent_id, session_id=session)

    @override
    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = next((_text(each) for each in reversed(messages or []) if each.role == MessageRole.USER), "")
        return await self._recalling.text(asked, self._agent_id)

    @override
    async def _aput(self, messages: list[ChatMessage]) -> None:
        # What a message does not say of its session is of one without a name of its own.
        by_session: dict[str, list[ChatMessage]] = {}
        for message in messages:
            by_session.setdefault(str(message.additional_kwargs.get(_SESSION) or "llama-index"), []).append(message)
        for session_id, several in by_session.items():
            await self.keep(several, session_id)


class RememberingMemory(Memory):
    """LlamaIndex's memory, whose messages are kept as they come: not only those that it has no room for any more."""

    @override
    async def aput(self, message: ChatMessage) -> None:
        """Add a message to the chat store and to the blocks that keep it."""
        await super().aput(message)
        await self._keep([message])

    @override
    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the chat store and to the blocks that keep them."""
        await super().aput_messages(messages)
        await self._keep(messages)

    async def _keep(self, messages: Sequence[ChatMessage]) -> None:
        for block in self.memory_blocks:
            if isinstance(block, MemoryGatewayBlock):
                await block.keep(messages, self.session_id)


def _said(messages: Sequence[ChatMessage]) -> Iterator[Said]:
    """Give what was said: no instructions, no calls of tools and none of what these have answered."""
    for message in messages:
        if message.role == MessageRole.USER:
            yield Said("user", _text(message))
        elif message.role in {MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL}:
            yield Said("assistant", _text(message))


def _text(message: ChatMessage) -> str:
    return "\n".join(block.text for block in message.blocks if block.block_type == "text")
