"""How an adapter recalls before a turn of a framework: what of the memory the model is given, and what in its place."""

from memory_gateway_client import Entry, MemoryGatewayError
from memory_gateway_client.adapters.asking import SWITCHED_OFF, Asking
from memory_gateway_client.adapters.texts import query, quoted, unavailable

TOP_K = 5
MOST_ENTRIES = 20
"""A recall for a model gives no more."""
MIN_SCORE = 0.2
"""Below it an entry seldom has to do with what was asked."""


class Recalling:
    """Recalls an agent's memories for a model."""

    def __init__(self, asking: Asking, *, top_k: int = TOP_K, min_score: float = MIN_SCORE) -> None:
        """Recall at most so many entries, none of which has a lower score."""
        self._asking = asking
        self._top_k = top_k
        self._min_score = min_score

    async def entries(self, asked: str, agent_id: str | None) -> tuple[Entry, ...] | MemoryGatewayError:
        """Return the memories that answer best, or why there is no answer; none where nothing is asked.

        Raises:
            MemoryGatewayError: as ``Asking.ask`` raises it.
        """
        words = query(asked)
        if not words:
            return ()
        # An entry that repeats what is asked tells nothing, so that one more is wanted.
        most = min(self._top_k + 1, MOST_ENTRIES)
        found = await self._asking.ask(
            lambda client: client.recall(
                words, agent_id=agent_id, top_k=most, min_score=self._min_score, for_model=True
            )
        )
        if isinstance(found, MemoryGatewayError):
            return () if found.code == SWITCHED_OFF else found
        return tuple(entry for entry in found.entries if entry.content.strip() != words)[: self._top_k]

    async def text(self, asked: str, agent_id: str | None) -> str:
        """Return what the model is told: memories in quotation marks, that there is no answer, or nothing."""
        found = await self.entries(asked, agent_id)
        return unavailable(found) if isinstance(found, MemoryGatewayError) else quoted(found)
