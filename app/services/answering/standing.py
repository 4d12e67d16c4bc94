"""Finds the standing instructions that belong beside a profile's answer: "Answer in Swedish", "Use pnpm, not npm"."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final

from app.domain.memory import Memory, Scope
from app.domain.profile_answers import ProfileInstruction, ProfileRecall
from app.domain.words import folded
from app.services.learning.reading import read
from app.services.memories.recall import Recall
from app.services.tenant.backends import TenantBackends
from app.storage.listing import MemoryListing
from app.storage.rows import read_memory

MOST: Final = 3
"""Instructions beside an answer, at most."""
CONCERNS: Final = 0.2
"""The score from which on an entry of a recall may be on the subject of the query (docs/retrieval.md)."""
_READ: Final = 8
"""Instructions that are read to choose these: some may repeat others, and only one of those is told."""


class StandingInstructions:
    """Finds the instructions of one profile that hold."""

    def __init__(self, backends: TenantBackends, agent_id: str) -> None:
        """Bind the profile."""
        self._database = backends.data.database
        self._scope = Scope(backends.tenant_id, agent_id)

    async def beside(self, recall: Recall, answering: Coroutine[Any, Any, ProfileRecall]) -> ProfileRecall:
        """Return the result of ``answering`` with the instructions, which are read from the database meanwhile.

        Raises as ``answering`` does.

        Raises:
            Unavailable: the database does not answer.
        """
        finding = asyncio.create_task(self._found(recall))
        try:
            answer = await answering
            return replace(answer, instructions=await finding)
        finally:
            finding.cancel()
            await asyncio.gather(finding, return_exceptions=True)

    async def _found(self, recall: Recall) -> Sequence[ProfileInstruction]:
        """Return the instructions, in one run: first those that are entries of the recall and concern its query."""
        concerned = [entry.id for entry in recall.entries if entry.score >= CONCERNS]
        wanted = MemoryListing(self._scope.tenant_id).standing(self._scope, concerned, limit=_READ)
        (rows,) = await self._database.run([wanted])
        outdated = {former.id for id_ in concerned for former in recall.formers.get(id_, ())}
        memories = [read_memory(self._scope.tenant_id, row) for row in rows]
        return chosen([memory for memory in memories if memory.id not in outdated])


def chosen(memories: Sequence[Memory]) -> Sequence[ProfileInstruction]:
    """Return the first of these instructions, at most ``MOST``, each text once.

    An instruction is left out where another of them was learned from it, where a machine said it, and where it asks.
    """
    learned = {id_ for memory in memories if memory.learned is not None for id_ in memory.learned.message_ids}
    by_text: dict[str, ProfileInstruction] = {}
    for memory in memories:
        sentence = read(memory, most=1)
        if memory.message_id in learned or not sentence or sentence[0].by_machine or sentence[0].asks:
            continue
        by_text.setdefault(
            " ".join(folded(memory.content).split()),
            ProfileInstruction(memory.id, memory.content, memory.created_at, memory.occurred_at),
        )
    return list(by_text.values())[:MOST]
