"""What is stored of the lines of a batch, and what became of each of them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from app.domain.embedding import EmbeddingConfig
from app.domain.explicit import permitted
from app.domain.memory import Memory, Scope
from app.services.memories.write import audited
from app.services.memories.write_outcomes import WriteOutcome
from app.services.tenant.backends import TenantBackends
from app.services.transfer.batch import ImportLine
from app.storage.memories import MemoryWrite

_READ_AT_ONCE = 256
"""Characters that are read for words in one part of an import; the largest memory takes longest."""


async def to_store(
    backends: TenantBackends, entries: Sequence[ImportLine], config: EmbeddingConfig
) -> AsyncIterator[MemoryWrite]:
    """Yield what is to be written, in parts of an import."""
    characters = 0
    for entry in entries:
        line = _line(entry, backends.tenant_id, config)
        line = replace(line, stated=permitted(line.memory, backends.author))
        characters += len(line.memory.content) + len(line.memory.segments)  # reading these takes the time
        yield line
        if characters > _READ_AT_ONCE:
            characters = 0
            await backends.admission.part()


def _line(entry: ImportLine, tenant_id: str, config: EmbeddingConfig) -> MemoryWrite:
    """Return what is to be written of an entry that was judged to be new."""
    record, vector = entry.record, entry.vector
    assert record is not None and vector is not None  # noqa: PT018, S101 - judged to be new
    memory = Memory(
        id=entry.id,
        scope=Scope(tenant_id, record.agent_id),
        content=record.content,
        metadata=record.metadata,
        session_id=record.session_id,
        occurred_at=record.occurred_at,
        created_at=entry.at if record.created_at is None else record.created_at,
        expires_at=record.expires_at,
        superseded_at=record.superseded_at,
        forgotten_at=record.forgotten_at,
        message_id=record.message_id,
        type=record.memory_type,
        learned=record.learned,
        run_id=record.run_id,
    )
    detail = audited(config) | {"embedded": entry.embedded}
    return MemoryWrite(memory, {config.index_name: vector}, detail, entry.undoes)


def settle(entry: ImportLine, outcome: WriteOutcome) -> None:
    """Say what became of an entry that was to be written."""
    if outcome.holder == entry.id:
        entry.settle("imported")
    elif outcome.holder is not None:
        entry.settle("duplicate", f"the agent has this content as {outcome.holder}")
    elif outcome.full:
        entry.settle("rejected", "is over a limit of its agent or of the tenant (GET /usage)")
    else:
        entry.settle("rejected", "something else was done with this id meanwhile; import it again")
