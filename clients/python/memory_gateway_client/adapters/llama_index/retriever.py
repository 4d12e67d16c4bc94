"""A retriever of LlamaIndex: the memories that answer a query, as nodes."""

import logging

from llama_index.core.async_utils import asyncio_run
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from typing_extensions import override

from memory_gateway_client import AsyncMemoryClient, Entry, MemoryClient, MemoryGatewayError
from memory_gateway_client.adapters.asking import Asking, OnOutage
from memory_gateway_client.adapters.recalling import MIN_SCORE, TOP_K, Recalling
from memory_gateway_client.adapters.texts import NOTICE, day, quotation, unavailable


class MemoryGatewayRetriever(BaseRetriever):
    """Finds memories.

    Where the service does not answer it gives one node that says so, which is another thing than none.
    """

    def __init__(
        self,
        client: MemoryClient | AsyncMemoryClient,
        *,
        agent_id: str | None = None,
        top_k: int = TOP_K,
        min_score: float = MIN_SCORE,
        quote: bool = True,
        on_outage: OnOutage | None = None,
        strict: bool = False,
    ) -> None:
        """Set it up; nothing is sent yet.

        Args:
            client: What asks; a ``MemoryClient`` where ``retrieve`` is called rather than ``aretrieve``.
            agent_id: Whose memories they are; None: of the client's agent.
            top_k: The most memories, 1 to 19.
            min_score: The least score of one, 0 to 1.
            quote: Whether the nodes are in quotation marks, behind one that says that they are no commands, as a model
                is to read them; False: as they were said, for a program.
            on_outage: Is told once when the service is away; else the log is, as a warning.
            strict: Whether a failure is raised.
        """
        super().__init__()
        asking = Asking(client, logging.getLogger(__name__), on_outage=on_outage, strict=strict)
        self._recalling = Recalling(asking, top_k=top_k, min_score=min_score)
        self._agent_id = agent_id
        self._quote = quote

    @override
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found: list[NodeWithScore] = asyncio_run(self._aretrieve(query_bundle))
        return found

    @override
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = await self._recalling.entries(query_bundle.query_str, self._agent_id)
        if isinstance(found, MemoryGatewayError):
            node = TextNode(text=unavailable(found), metadata={"unavailable": found.code})
            return [NodeWithScore(node=node, score=0.0)]
        nodes = [self._node(entry) for entry in found]
        notice = [NodeWithScore(node=TextNode(text=NOTICE), score=nodes[0].score)] if nodes and self._quote else []
        return notice + nodes

    def _node(self, entry: Entry) -> NodeWithScore:
        known = {"date": day(entry), "session_id": entry.session_id}
        node = TextNode(
            id_=entry.id,
            text=quotation(entry.content) if self._quote else entry.content,
            metadata={**entry.metadata, **{name: value for name, value in known.items() if value is not None}},
        )
        return NodeWithScore(node=node, score=entry.score)
