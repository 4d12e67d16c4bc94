"""Reads messages that have become memories, for a model to read."""

from collections.abc import Mapping, Sequence
from typing import cast

from app.domain.messages import Message, Role
from app.services.ingest.work import IngestionWork
from app.storage.learning import SaidLine, said_lines


async def remembered(work: IngestionWork, message_ids: Sequence[str]) -> Mapping[str, Message]:
    """Return those of the messages that are memories and were not forgotten, by id."""
    (rows,) = await work.run([work.learning.lines(message_ids)])
    return {line.id: _message(line, work.session_id) for line in said_lines(rows)}


def _message(line: SaidLine, session_id: str) -> Message:
    role = line.speaker if line.speaker in {"assistant", "system"} else "user"
    return Message(line.id, session_id, cast(Role, role), line.content, line.said_at)
