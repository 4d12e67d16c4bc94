"""Compares the results of two indexes for the same queries, before recalls are switched. Crosses tenants."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from app.domain.errors import Conflict
from app.domain.memory import Scope
from app.domain.query import Filter
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin
from app.storage.rows import read_rows
from app.storage.system.sampling import SampledMemory, existing_ids, sample_memories

TOP = 10
"""How many results of either side are compared."""


@dataclass(frozen=True, slots=True)
class ParityQuery:
    """A query of one scope; ``expected`` is the id of the memory that it should find, where that is known."""

    scope: Scope
    text: str
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class ParitySide:
    """One of the two sides that are compared: an index and the embedder of its config."""

    index: IndexAdmin
    embedder: Embedder

    async def best(self, query: ParityQuery, spend: Callable[[int], Awaitable[None]]) -> list[str]:
        """Return the ids that the index finds, best first; they may include ids of deleted memories."""
        await spend(2)
        (vector,) = (await self.embedder.embed([query.text], "query")).vectors
        hits = await self.index.query(query.scope, vector, top_k=2 * TOP, where=Filter())
        return [hit.id for hit in hits.hits]


@dataclass(frozen=True, slots=True)
class Parity:
    """The agreement of two sides, over all queries.

    Attributes:
        queries: The number of queries.
        overlap: Mean share of one side's first ten results that are among the first ten of the other.
        worst: The smallest of these shares.
        reciprocal_before: Mean reciprocal rank of the expected memory on the active side.
        reciprocal_after: The same on the other side. Where a query names no memory, the active side's first result is
            expected.
    """

    queries: int
    overlap: float
    worst: float
    reciprocal_before: float
    reciprocal_after: float


async def sample(database: Database, limit: int) -> list[ParityQuery]:
    """Make queries of the first words of some memories; each query expects its memory."""
    (rows,) = await database.run([sample_memories(limit)])
    return [
        ParityQuery(Scope(memory.tenant_id, memory.agent_id), _first_half(memory.content), memory.id)
        for memory in read_rows(SampledMemory, rows)
    ]


async def compare(
    database: Database,
    before: ParitySide,
    after: ParitySide,
    queries: Sequence[ParityQuery],
    *,
    rate_limiter: RateLimiter,
    report: Callable[[], None],
) -> Parity:
    """Search both sides with every query and return their agreement.

    Raises:
        Conflict: there is no query.
        Unavailable: the database, an index or an embedder does not answer.
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
    (rows,) = await database.run([existing_ids(scope, ids)])
    return {str(row["id"]) for row in rows}


def _overlap(first: Sequence[str], second: Sequence[str]) -> float:
    longer = max(len(first), len(second))
    return len(set(first) & set(second)) / longer if longer else 1.0


def _reciprocal(found: Sequence[str], expected: str | None) -> float:
    return 1 / (found.index(expected) + 1) if expected in found else 0.0


def _first_half(text: str) -> str:
    words = text.split()
    return " ".join(words[: -(-len(words) // 2)])
