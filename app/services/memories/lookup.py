"""Looks memories up that a recall may not return: by an id or by words, also expired, replaced and forgotten ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain import limits
from app.domain.comparing import Comparison
from app.domain.errors import FieldError, InvalidRequest
from app.domain.memory import Memory, Scope, Tenant
from app.domain.words import normalised
from app.retrieval.query.terms import terms
from app.services.tenant.backends import TenantBackends
from app.storage.lookups import MAX_FOUND, any_of, by_any_word, by_id, by_words, contents, owner, replacements
from app.storage.relations import of_memory
from app.storage.rows import read_memory, read_row, read_rows

_MAX_REPLACED = 100


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A memory of whatever state, and the id of the memory that holds in its place; None: none does."""

    memory: Memory
    holder: str | None


@dataclass(frozen=True, slots=True)
class Replacement:
    """The memory that holds in place of another one, or of a part of it."""

    by_id: str
    content: str
    """The beginning of the content of the memory that holds."""
    whole: bool
    """Whether nothing of the older memory holds, so that no recall returns it; otherwise it comes behind the newer."""
    probability: float | None
    """How likely it is that the older memory holds no longer, as a reader says; None: a key or a person has said so."""


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

    async def with_words(self, agent_id: str, words: str, field: str = "memory") -> Sequence[Memory]:
        """Return the agent's newest memories that have all words of a text, at most ten; endings do not count.

        ``field`` is the name that a refusal has for the text.

        Raises:
            InvalidRequest: the agent's id is malformed, or the text has no word that tells memories apart.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), (field, limits.QUERY, words))
        wanted = [term.fts for term in terms(words)]
        if not wanted:
            message = "has no word by which a memory could be found"
            raise InvalidRequest(f"{field} {message}.", errors=[FieldError(field, message)])
        scope = Scope(self._backends.tenant_id, agent_id)
        (rows,) = await self._backends.data.database.run([by_words(scope, wanted)])
        return [read_memory(scope.tenant_id, row) for row in rows]

    async def near_words(self, agent_id: str, words: str) -> Sequence[Memory]:
        """Return memories that have some words of a text, or words that begin so, at most ten; most words come first.

        Raises as ``with_words`` does.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("memory", limits.QUERY, words))
        wanted = {term.text.split()[0]: replace(term, prefix=True).fts for term in terms(words)}
        if not wanted:
            return []
        scope = Scope(self._backends.tenant_id, agent_id)
        (rows,) = await self._backends.data.database.run([by_any_word(scope, list(wanted.values()))])
        found = [read_memory(scope.tenant_id, row) for row in rows]
        shared = {memory.id: sum(word in normalised(memory.content).casefold() for word in wanted) for memory in found}
        return sorted(found, key=lambda memory: -shared[memory.id])[:MAX_FOUND]

    async def replacements(self, agent_id: str, ids: Sequence[str]) -> Mapping[str, Replacement]:
        """Return what holds in place of these memories of the agent, at most 100, by their ids.

        A memory that holds is not among them.

        Raises:
            InvalidRequest: the agent's id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        scope = Scope(self._backends.tenant_id, agent_id)
        (rows,) = await self._backends.data.database.run([replacements(scope, ids[:_MAX_REPLACED])])
        return {str(row["memory_id"]): read_row(Replacement, row) for row in rows}

    async def relations(self, agent_id: str, memory_id: str) -> Sequence[Comparison]:
        """Return the relations of a memory to others that were recorded, the newest first, at most 50.

        Raises:
            InvalidRequest: an id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("memory_id", limits.MEMORY_ID, memory_id))
        scope = Scope(self._backends.tenant_id, agent_id)
        (rows,) = await self._backends.data.database.run([of_memory(scope, memory_id)])
        return read_rows(Comparison, rows)

    async def has_any(self, agent_id: str) -> bool:
        """Tell whether the agent has a memory of whatever state; raises as ``relations`` does."""
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        (rows,) = await self._backends.data.database.run([any_of(Scope(self._backends.tenant_id, agent_id))])
        return bool(rows)

    async def agent_of(self, memory_id: str) -> str | None:
        """Return the agent of the tenant that has a memory of this id; None where none has.

        Raises:
            InvalidRequest: the id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("memory_id", limits.MEMORY_ID, memory_id))
        (rows,) = await self._backends.data.database.run([owner(Tenant(self._backends.tenant_id), memory_id)])
        return str(rows[0]["agent_id"]) if rows else None

    async def contents(self, ids: Sequence[str], agent_id: str | None = None) -> Mapping[str, str]:
        """Return the beginnings of the contents of these memories by their ids, at most 50; None: of any agent.

        Raises:
            InvalidRequest: the agent's id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        tenant_id = self._backends.tenant_id
        whose = Tenant(tenant_id) if agent_id is None else Scope(tenant_id, agent_id)
        (rows,) = await self._backends.data.database.run([contents(whose, ids[: limits.MAX_UNDO_NAMED])])
        return {str(row["id"]): str(row["content"]) for row in rows}
