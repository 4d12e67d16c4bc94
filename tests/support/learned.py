"""Messages that are memories, and memories that a model has learned of them, written as an ingestion writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ulid import ULID

from app.domain.author import Author
from app.domain.claim import MemoryType
from app.domain.learned import Learned
from app.domain.memory import Memory, Scope, Tenant
from app.domain.messages import Message, Role, message_id
from app.domain.moments import moment
from app.services.claims import permitted
from app.services.write import Writer
from app.storage.ingestions import Ingestions
from app.storage.memories import Batch, Line
from tests.support.gateways import ADMINISTRATOR

SESSION = "s"


@dataclass(frozen=True)
class Said:
    """A message, and the memory that it is."""

    message_id: str
    memory_id: str


async def say(backends: Any, content: str, at: int, *, role: Role = "user", author: Author = ADMINISTRATOR) -> Said:
    """Make a memory of a message of the session."""
    message = Message(message_id(SESSION, role, content), SESSION, role, content, at)
    memory = message.memory(_SCOPE, _id(at), at)
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
    return Memory(_id(at), _SCOPE, content, {}, SESSION, at, at, None, type=type_, learned=learned)


async def write(backends: Any, memory: Memory, *, author: Author = ADMINISTRATOR) -> str | None:
    """Write one memory of an ingestion; return the id of the memory that has its content."""
    own = backends.of_tenant(_SCOPE.tenant_id, author)
    used = own.configs
    (vector,) = (await own.embedder_of(used.active).embed([memory.embedded_text], "document")).vectors
    line = Line(memory, {used.active.index_name: vector}, {}, stated=permitted(memory, author))
    batch = Batch(
        Tenant(_SCOPE.tenant_id),
        [line],
        used,
        own.clock(),
        own.quotas,
        author,
        is_store=True,
        ingestion=Ingestions(_SCOPE, SESSION, "0" * 26),
    )
    (outcome,) = await Writer(own).write(batch)
    return outcome.holder


_SCOPE = Scope("acme", "bot")


def _id(at: int) -> str:
    return str(ULID.from_datetime(moment(at)))
