"""Explains one tenant's recalls: why a memory was not among the entries."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.comparing import Comparison
from app.domain.errors import NotFound
from app.domain.limits import QUERY
from app.domain.memory import Scope
from app.domain.query import Finding, Query
from app.retrieval.obstacles import Obstacle, obstacle, relaxed
from app.retrieval.pool import Candidate
from app.retrieval.query.terms import STOP_WORDS
from app.retrieval.search import Search
from app.services.memories.recall import search
from app.services.tenant.backends import TenantBackends
from app.storage.relations import of_memory
from app.storage.rows import read_rows

_WORD = re.compile(r"\w{3,}")
_WORDS_ADDED = 3


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a recall did, or did not, return one memory."""

    rank: int
    """The memory's rank among all candidates, from 1."""
    score: float
    findings: Sequence[Finding]
    obstacles: Sequence[Obstacle]
    """The obstacles that keep the memory out, in their order; empty where the memory is an entry."""
    change: Query | None
    """The least changed query that returns the memory; None where the memory is an entry, or no query returns it."""
    degraded: Sequence[str]
    comparisons: Sequence[Comparison] = ()
    """A reader's comparisons of the memory with others: recorded comparisons, then those of this recall."""
    compared: int = 0
    """How many memories the recall has compared."""


class Explainer:
    """Explains recalls of one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends

    async def explain(self, scope: Scope, query: Query, memory_id: str) -> Explanation:
        """Explain how a query sees a memory.

        Raises:
            EmbeddingConfigChanged: another config is in use than was last seen.
            LongTermDisabled: the agent's long-term memory is switched off.
            NotFound: the scope has no such memory.
            Unavailable: there is no answer.
        """
        found = await search(self._backends, scope, query, also=memory_id)
        self._backends.audit.degraded(found.degraded)
        memory = found.fusion.pool.candidates.get(memory_id)
        if memory is None:
            raise NotFound("There is no such memory.")
        entry = found.entry(memory, replace(query, explain=True))
        obstacles, change = await self._way_in(scope, query, found, memory)
        rank = 1 + found.ranking.index(memory)
        (rows,) = await self._backends.data.database.run([of_memory(scope, memory_id)])
        own = [one for one in found.comparisons if memory_id in (one.older_id, one.newer_id)]
        comparisons = [*read_rows(Comparison, rows), *own]
        return Explanation(
            rank, entry.score, entry.findings, obstacles, change, found.degraded, comparisons, len(found.ranking)
        )

    async def _way_in(
        self, scope: Scope, query: Query, found: Search, memory: Candidate
    ) -> tuple[list[Obstacle], Query | None]:
        """Remove one obstacle after the other. Return the obstacles, and the query that then returns the memory."""
        obstacles: list[Obstacle] = []
        trial = query
        while (what := obstacle(found, trial, memory)) is not None:
            if what not in obstacles:
                obstacles.append(what)
            changed = relaxed(found, trial, memory, what)
            if changed is None and trial.text == query.text:
                changed = _nearer(trial, memory, what)
            if changed is None or changed == trial:
                return obstacles, None
            if (changed.text, changed.where, changed.as_of) != (trial.text, trial.where, trial.as_of):
                again = await search(self._backends, scope, changed, also=memory.id)
                if memory.id not in again.fusion.pool.candidates:  # deleted meanwhile
                    return obstacles, None
                found, memory = again, again.fusion.pool.candidates[memory.id]
            trial = changed
        return obstacles, await self._proved(scope, trial, memory) if obstacles else None

    async def _proved(self, scope: Scope, query: Query, memory: Candidate) -> Query | None:
        """Return the query if a recall with it does return the memory."""
        entries, _ = (await search(self._backends, scope, query)).select(query)
        return query if any(entry.id == memory.id for entry in entries) else None


def _nearer(query: Query, memory: Candidate, what: Obstacle) -> Query | None:
    """Return the query with words of the memory that the query lacks; None unless the obstacle is the rank."""
    if what != "rank":
        return None
    present = {word.lower() for word in _WORD.findall(query.text)} | STOP_WORDS
    lacking = [word for word in dict.fromkeys(_WORD.findall(memory.content)) if word.lower() not in present]
    longest = sorted(lacking, key=len, reverse=True)[:_WORDS_ADDED]
    text = " ".join([query.text, *longest])
    return replace(query, text=text) if longest and QUERY.violation(text) is None else None
