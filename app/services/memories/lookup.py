"""Looks memories up that a recall may not return: by an id or by words, also expired, replaced and forgotten ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain import limits
from app.domain.errors import FieldError, InvalidRequest
from app.domain.memory import Memory, Scope, Tenant
from app.retrieval.query.terms import terms
from app.services.tenant.backends import TenantBackends
from app.storage.lookups import by_id, by_words, contents, owner
from app.storage.rows import read_memory


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A memory of whatever state, and the id of the memory that holds in its place; None: none does."""

    memory: Memory
    holder: str | None


class Lookup:
    """Looks up memories of one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends

    async def one(self, agent_id: str, memory_id: str) -> LookedUp | None:
        """Return the agent's memory of this id; None where it has none.

        Raises:
            InvalidRequest: an id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("memory_id", limits.MEMORY_ID, memory_id))
        (rows,) = await self._backends.data.database.run([by_id(Scope(self._backends.tenant_id, agent_id), memory_id)])
        if not rows:
            return None
        held_by = rows[0]["holder"]
        memory = read_memory(self._backends.tenant_id, rows[0])
        return LookedUp(memory, None if held_by is None else str(held_by))

    async def with_words(self, agent_id: str, words: str) -> Sequence[Memory]:
        """Return the agent's newest memories that have all words of a text, at most ten; endings do not count.

        Raises:
            InvalidRequest: the agent's id is malformed, or the text has no word that tells memories apart.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("memory", limits.QUERY, words))
        wanted = [term.fts for term in terms(words)]
        if not wanted:
            message = "has no word by which a memory could be found"
            raise InvalidRequest(f"memory {message}.", errors=[FieldError("memory", message)])
        scope = Scope(self._backends.tenant_id, agent_id)
        (rows,) = await self._backends.data.database.run([by_words(scope, wanted)])
        return [read_memory(scope.tenant_id, row) for row in rows]

    async def agent_of(self, memory_id: str) -> str | None:
        """Return the agent of the tenant that has a memory of this id; None where none has.

        Raises:
            InvalidRequest: the id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("memory_id", limits.MEMORY_ID, memory_id))
        (rows,) = await self._backends.data.database.run([owner(Tenant(self._backends.tenant_id), memory_id)])
        return str(rows[0]["agent_id"]) if rows else None

    async def contents(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the beginnings of the contents of these memories of the tenant, by their ids, at most 50.

        Raises:
            Unavailable: the database does not answer.
        """
        statement = contents(Tenant(self._backends.tenant_id), ids[: limits.MAX_UNDO_NAMED])
        (rows,) = await self._backends.data.database.run([statement])
        return {str(row["id"]): str(row["content"]) for row in rows}
