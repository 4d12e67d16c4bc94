"""Messages that are memories, and memories that a model has learned of them, written as an ingestion writes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ulid import ULID

from app.domain.author import Author
from app.domain.claim import MemoryType
from app.domain.explicit import permitted
from app.domain.json_types import Json
from app.domain.learned import Learned
from app.domain.memory import Memory, Scope, Tenant
from app.domain.messages import Message, Role, message_id
from app.domain.moments import moment
from app.runtime.relating import read_left_over, relating
from app.services.memories.write import Writer
from app.storage.ingestions import Ingestions
from app.storage.memories import Batch, MemoryWrite
from tests.services.scripted_reader import ScriptedReader
from tests.support.gateways import ADMINISTRATOR, Bench

SESSION = "s"


@dataclass(frozen=True)
class Said:
    """A message, and the memory that it is."""

    message_id: str
    memory_id: str


async def say(
    backends: Any,
    content: str,
    at: int,
    *,
    role: Role = "user",
    author: Author = ADMINISTRATOR,
    metadata: Mapping[str, Json] | None = None,
) -> Said:
    """Make a memory of a message of the session, with more metadata than a message has where a test gives it."""
    message = Message(message_id(SESSION, role, content), SESSION, role, content, at)
    memory = message.memory(_SCOPE, _id(at), at)
    memory = replace(memory, metadata={**memory.metadata, **(metadata or {})})
    written = await write(backends, memory, author=author)
    assert written is not None
    return Said(message.id, written)


async def learn(backends: Any, content: str, said: Sequence[Said], at: int, **others: Any) -> str | None:
    """Write what a model has learned of messages; return its id, or None where it was not written."""
    return await write(backends, lesson(content, said, at, **others))


def lesson(
    content: str,
    said: Sequence[Said],
    at: int,
    *,
    topic: str | None = None,
    type_: MemoryType = "fact",
    queries: Sequence[str] = (),
) -> Memory:
    """Return what a model has learned of messages."""
    learned = Learned([each.message_id for each in said], topic, queries)
    return Memory(
        id=_id(at),
        scope=_SCOPE,
        content=content,
        metadata={},
        session_id=SESSION,
        occurred_at=at,
        created_at=at,
        expires_at=None,
        type=type_,
        learned=learned,
    )


async def write(backends: Any, memory: Memory, *, author: Author = ADMINISTRATOR) -> str | None:
    """Write one memory of an ingestion; return the id of the memory that has its content."""
    own = backends.of_tenant(_SCOPE.tenant_id, author)
    used = own.data.configs
    (vector,) = (await own.models.embedder_of(used.active).embed([memory.embedded_text], "document")).vectors
    line = MemoryWrite(memory, {used.active.index_name: vector}, {}, stated=permitted(memory, author))
    batch = Batch(
        Tenant(_SCOPE.tenant_id),
        [line],
        used,
        own.clock(),
        own.limits.quotas,
        author,
        is_store=True,
        ingestion=Ingestions(_SCOPE, SESSION, "0" * 26),
    )
    (outcome,) = await Writer(own).write(batch)
    return outcome.holder


async def compare(bench: Bench, reader: ScriptedReader) -> None:
    """Let a reader compare all that waits, and say what it is."""
    await bench.delivered()
    job = relating(replace(bench.backends, reader=reader), reader)
    await job.begin()
    while await read_left_over(job):
        pass


_SCOPE = Scope("acme", "bot")


def _id(at: int) -> str:
    return str(ULID.from_datetime(moment(at)))
