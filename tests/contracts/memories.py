"""Memories put straight into a database, and what a recall finds of them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from app.domain.json_types import Json
from app.domain.memory import Scope
from app.domain.query import Filter
from app.domain.words import segments
from app.ports.database import Database, Statement
from app.retrieval.pool import Candidate, Pool, ScopeStats
from app.retrieval.query.terms import terms
from app.storage.candidates import CandidateQuery, find_candidates, read_candidates

OWN = Scope("acme", "bot")
INDEX = "lt-memory-test"
NOW = 1_790_000_000_000

_PUT = """
INSERT INTO long_term_memory (
  tenant_id, agent_id, id, content, content_hash, segments, metadata, session_id, occurred_at,
  embedding_provider, embedding_model, embedding_dimensions, created_at, expires_at,
  written_by, written_through, written_at
)
SELECT value ->> 'tenant', value ->> 'agent', value ->> 'id', value ->> 'content', value ->> 'hash',
  value ->> 'segments', value ->> 'metadata', value ->> 'session', value ->> 'at', 'test', 'none', 1,
  value ->> 'created', value ->> 'expires', value ->> '$.written[0]', value ->> '$.written[1]', value ->> '$.written[2]'
FROM json_each(?1) WHERE TRUE ORDER BY key
ON CONFLICT (tenant_id, agent_id, content_hash) DO UPDATE SET metadata = excluded.metadata
"""
_CHECK = "INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)"


@dataclass(frozen=True, slots=True)
class Held:
    """A memory to put; two of one scope, content and session are the same."""

    content: str
    metadata: dict[str, Json] | None = None
    session: str | None = None
    at: int | None = None
    created: int = NOW
    expires: int | None = None
    written: tuple[str | None, str | None, int] | None = None
    """By whom, through what and when."""


class Memories:
    """The memories of a database that has been migrated."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._numbers = count()

    async def put(self, *held: Held | str, scope: Scope = OWN) -> list[str]:
        """Put memories in their order and return the ids they get, where they are new."""
        lines = [self._line(scope, Held(each) if isinstance(each, str) else each) for each in held]
        await self.database.run([Statement(_PUT, lines, writes=True)])
        return [str(line["id"]) for line in lines]

    async def remove(self, content: str, *, scope: Scope = OWN) -> None:
        where = "tenant_id = ?1 ->> 0 AND agent_id = ?1 ->> 1 AND content = ?1 ->> 2"
        argument = [scope.tenant_id, scope.agent_id, content]
        await self.database.run([Statement(f"DELETE FROM long_term_memory WHERE {where}", argument, writes=True)])

    async def gather(
        self,
        query: str = "",
        *,
        scope: Scope = OWN,
        hits: Sequence[tuple[str, float]] = (),
        sections: Mapping[str, Json] | None = None,
        where: Filter | None = None,
        **options: Any,
    ) -> Pool:
        """Return what is chosen from, by the words of a query, the hits of an index and what other sections read."""
        found_by: dict[str, Json] = {
            "lexical": [term.fts for term in terms(query)],
            "semantic": [[id_, points] for id_, points in hits],
            **(sections or {}),
        }
        wanted: dict[str, Any] = {"index_name": INDEX, "max_pending": 10, "where": where or Filter()} | options
        (rows,) = await self.database.run([find_candidates(scope, CandidateQuery(found_by, **wanted))])
        found, stats = read_candidates(rows)
        return Pool.of([Candidate(**fields) for fields in found], ScopeStats(**stats))

    async def found(self, query: str, **options: Any) -> list[str]:
        """Return the contents that hold a word of the query, sorted."""
        pool = await self.gather(query, **options)
        return sorted(candidate.content for candidate in pool.candidates.values() if candidate.words)

    async def one(self, content: str) -> Candidate:
        (one,) = (each for each in (await self.gather(fill=100)).candidates.values() if each.content == content)
        return one

    async def check_words(self) -> None:
        """Raise unless the index of words holds what the memories do, and nothing else."""
        await self.database.run([Statement(_CHECK, writes=True)])

    def _line(self, scope: Scope, held: Held) -> dict[str, Json]:
        identity = json.dumps([held.content, held.session])
        return {
            "tenant": scope.tenant_id,
            "agent": scope.agent_id,
            "id": f"01K{next(self._numbers):023d}",
            "content": held.content,
            "hash": hashlib.sha256(identity.encode()).hexdigest(),
            "segments": segments(held.content),
            "metadata": json.dumps(held.metadata or {}),
            "session": held.session,
            "at": held.at,
            "created": held.created,
            "expires": held.expires,
            "written": held.written and list(held.written),
        }
