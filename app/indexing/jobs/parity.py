"""Compares what two indexes find for the same queries, before recalls are switched. Crosses tenants."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from app.domain.errors import Conflict
from app.domain.memory import Scope
from app.domain.query import Filter
from app.indexing.jobs.reconcile import RateLimiter
from app.ports.database import Database, Statement
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin

TOP = 10

_SAMPLE = """
SELECT tenant_id, agent_id, id, content FROM long_term_memory ORDER BY random() LIMIT ?1 ->> 'most'
"""
_EXISTING = """
SELECT memory.id FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
  AND memory.id IN (SELECT value FROM json_each(?1, '$.ids'))
"""


@dataclass(frozen=True, slots=True)
class ParityQuery:
    """A question of one scope; ``expected`` is the memory that ought to be found, where that is known."""

    scope: Scope
    text: str
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: what embeds and what is searched."""

    index: IndexAdmin
    embedder: Embedder

    async def best(self, query: ParityQuery, spend: Callable[[int], Awaitable[None]]) -> list[str]:
        """Return the ids the index suggests, best first, of memories gone as well."""
        await spend(2)
        (vector,) = (await self.embedder.embed([query.text], "query")).vectors
        hits = await self.index.query(query.scope, vector, top_k=2 * TOP, where=Filter())
        return [hit.id for hit in hits.hits]


@dataclass(frozen=True, slots=True)
class Parity:
    """How far two sides agree, over all queries.

    Attributes:
        queries: How many were asked.
        overlap: Mean share of the first ten of either side that the other has among its first ten.
        worst: The least of these shares.
        reciprocal_before: Mean reciprocal rank of the expected memory on the side in use.
        reciprocal_after: The same on the other side. Where nothing is expected, the first of the side in use is.
    """

    queries: int
    overlap: float
    worst: float
    reciprocal_before: float
    reciprocal_after: float


async def sample(database: Database, most: int) -> list[ParityQuery]:
    """Make queries of some memories' own first words, each expecting its memory."""
    (rows,) = await database.run([Statement(_SAMPLE, {"most": most})])
    return [
        ParityQuery(
            Scope(str(row["tenant_id"]), str(row["agent_id"])), _first_half(str(row["content"])), str(row["id"])
        )
        for row in rows
    ]


async def compare(
    database: Database,
    before: Side,
    after: Side,
    queries: Sequence[ParityQuery],
    *,
    rate_limiter: RateLimiter,
    report: Callable[[], None],
) -> Parity:
    """Ask both sides every query.

    Raises:
        Conflict: there is no query: no memory to make one of, or an empty list.
        Unavailable: a part does not answer.
    """
    if not queries:
        raise Conflict("There is nothing to compare: no memory and no query.")
    overlaps, ranks_before, ranks_after = [], [], []
    for query in queries:
        found = [await side.best(query, rate_limiter.spend) for side in (before, after)]
        await rate_limiter.spend()
        existing = await _existing(database, query.scope, [id_ for ids in found for id_ in ids])
        first, second = ([id_ for id_ in ids if id_ in existing][:TOP] for ids in found)
        expected = query.expected or next(iter(first), None)
        overlaps.append(_overlap(first, second))
        ranks_before.append(_reciprocal(first, expected))
        ranks_after.append(_reciprocal(second, expected))
        report()
    return Parity(
        queries=len(queries),
        overlap=sum(overlaps) / len(overlaps),
        worst=min(overlaps),
        reciprocal_before=sum(ranks_before) / len(ranks_before),
        reciprocal_after=sum(ranks_after) / len(ranks_after),
    )


async def _existing(database: Database, scope: Scope, ids: Sequence[str]) -> set[str]:
    argument = {"tenant_id": scope.tenant_id, "agent_id": scope.agent_id, "ids": list(ids)}
    (rows,) = await database.run([Statement(_EXISTING, argument)])
    return {str(row["id"]) for row in rows}


def _overlap(first: Sequence[str], second: Sequence[str]) -> float:
    most = max(len(first), len(second))
    return len(set(first) & set(second)) / most if most else 1.0


def _reciprocal(found: Sequence[str], expected: str | None) -> float:
    return 1 / (found.index(expected) + 1) if expected in found else 0.0


def _first_half(text: str) -> str:
    words = text.split()
    return " ".join(words[: -(-len(words) // 2)])
