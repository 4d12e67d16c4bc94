"""A memory on its way in or out, whatever the format it travels in."""

from dataclasses import dataclass, fields

from app.domain.claim import MemoryType
from app.domain.embedding import Vector
from app.domain.learned import Learned
from app.domain.memory import Memory, Scope, Supersedable


@dataclass(frozen=True, kw_only=True)
class Record(Supersedable):
    """One memory of an agent.

    Attributes:
        id: A ULID; None where the memory comes from a system with ids of another form, and gets one on import.
        superseded_at: When what replaced it was said; None: it holds.
        forgotten_at: Since when no recall finds it; None: it is remembered.
        message_id: The message that it is (``app.domain.memory.Memory``); None: it is none.
        memory_type: What it is; None, where it follows from its content.
        learned: What is known of it where a language model made it; None: it is in the words of whoever stored it.
        run_id: The run under which it was first written; None: none was named.
        created_at: None where it is not known: the moment of the import.
        embedding: ``EmbeddingConfig.label`` of what made ``vector``; both or neither are given.
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
        """Return the memory that storing it under an id makes; it is of that moment, where it brings none."""
        same = {name: getattr(self, name) for name in _SAME}
        scope, created_at = Scope(tenant_id, self.agent_id), stored_at if self.created_at is None else self.created_at
        return Memory(**same | {"id": id_, "created_at": created_at}, scope=scope, type=self.memory_type)


_SAME = {of_record.name for of_record in fields(Record)} & {of_memory.name for of_memory in fields(Memory)}
"""The fields that a record has of a memory."""
