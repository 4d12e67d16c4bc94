"""A memory that is exported or imported, in any format."""

from dataclasses import dataclass, fields

from app.domain.claim import MemoryType
from app.domain.embedding import Vector
from app.domain.learned import Learned
from app.domain.memory import Memory, Scope, Supersedable


@dataclass(frozen=True, kw_only=True)
class Record(Supersedable):
    """One memory of an agent.

    Attributes:
        id: A ULID; None where the memory comes from a system with ids of another form, and gets an id on import.
        superseded_at: When its successor was said; None: the memory holds.
        forgotten_at: Since when no recall finds the memory; None: it is remembered.
        message_id: The message that the memory is (``app.domain.memory.Memory``); None: it is no message.
        memory_type: The type of the memory; None where the type follows from the content.
        learned: Messages and topic of a memory that a language model made; None: it has the words of its author.
        run_id: The run under which the memory was first written; None: no run was named.
        created_at: None where the moment is not known: the memory gets the moment of the import.
        embedding: ``EmbeddingConfig.label`` of the config that made ``vector``; both fields are given, or neither.
    """

    agent_id: str
    id: str | None = None
    created_at: int | None = None
    expires_at: int | None = None
    superseded_at: int | None = None
    forgotten_at: int | None = None
    message_id: str | None = None
    memory_type: MemoryType | None = None
    learned: Learned | None = None
    run_id: str | None = None
    vector: Vector | None = None
    embedding: str | None = None

    def memory(self, tenant_id: str, id_: str, stored_at: int) -> Memory:
        """Return the record as the memory of an id; ``stored_at`` is its moment where the record has none."""
        same = {name: getattr(self, name) for name in _SAME}
        scope, created_at = Scope(tenant_id, self.agent_id), stored_at if self.created_at is None else self.created_at
        return Memory(**same | {"id": id_, "created_at": created_at}, scope=scope, type=self.memory_type)


_SAME = {of_record.name for of_record in fields(Record)} & {of_memory.name for of_memory in fields(Memory)}
"""The fields that records and memories have in common."""
