"""Gives messages their session, their moments and their ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain import limits
from app.domain.messages import Message, NewMessage, digest, message_id
from app.domain.moments import FIRST_MOMENT
from app.services.tenant.backends import TenantBackends
from app.services.turns.turns import paced

_DAY_MS = 86_400_000
_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages that a caller brought, with their ids and moments."""

    session_id: str
    ids: Sequence[str]
    """The id of each message that was brought; a message that occurs twice in a session has one id."""
    messages: Sequence[Message]
    """Each message once."""


async def check(messages: Sequence[NewMessage], session_id: str | None, now: int) -> None:
    """Check the bounds of what a caller brought.

    Raises:
        ContentTooLarge: a message has too many bytes.
        InvalidRequest: another field is outside its bound; every such field is named.
    """
    limits.check(("messages", limits.MESSAGES, messages), ("session_id", limits.MESSAGE_SESSION_ID, session_id))
    latest = limits.no_later_than(now + _DAY_MS)
    found: list[tuple[str, limits.Violation]] = []
    async for number, message in paced(enumerate(messages), lambda each: len(each[1].content)):
        fields = (
            ("role", limits.MESSAGE_ROLE, message.role),
            ("content", limits.CONTENT, message.content),
            (message.moment_field, latest, message.occurred_at),
        )
        found += [
            (f"messages.{number}.{name}", violation)
            for name, bound, value in fields
            if value is not None and (violation := bound.violation(value)) is not None
        ]
    if found:
        raise limits.out_of_bounds(found[:_MAX_NAMED])


async def screened(
    backends: TenantBackends, messages: Sequence[NewMessage], session_id: str | None, now: int
) -> tuple[Sequence[NewMessage], str | None]:
    """Return messages and their session as they may be kept: a text that is masked is within its bounds too.

    Raises:
        SensitiveContent: a field has content that is not kept.
        ContentTooLarge, InvalidRequest: as ``check`` says.
    """
    await check(messages, session_id, now)
    kept = await backends.screened(messages, "messages")
    session = await backends.screened(session_id, "session_id")
    if kept is not messages or session is not session_id:  # a label may be longer than what it takes the place of
        await check(kept, session, now)
    return kept, session


async def identify(messages: Sequence[NewMessage], session_id: str | None, now: int) -> Conversation:
    """Return the messages as a conversation; without a session the session's id is a digest of the messages.

    Where two messages would be one memory, because they have the same words and the same moment, the second is put a
    millisecond later: they are two memories.
    """
    session_id = session_id or await _derived_session(messages)
    moments = said_at(messages, now)
    ids: list[str] = []
    unique: dict[str, Message] = {}
    taken: set[str] = set()
    async for new, moment in paced(zip(messages, moments, strict=True), lambda each: len(each[0].content)):
        id_ = message_id(session_id, new.role, new.content)
        ids.append(id_)
        if id_ in unique:
            continue
        message = Message(id_, session_id, new.role, new.content, moment)
        while message.content_hash in taken:
            message = message.later()
        taken.add(message.content_hash)
        unique[id_] = message
    return Conversation(session_id, ids, list(unique.values()))


def said_at(messages: Sequence[NewMessage], now: int) -> list[int]:
    """Return the moment of each message: the one that it came with, or else a millisecond after the message before it.

    Messages before the first that has one count back from it, but not to a moment before the calendar; where none has,
    the first was said now.
    """
    first = next((number for number, message in enumerate(messages) if message.occurred_at is not None), None)
    moment = now if first is None else (messages[first].occurred_at or 0) - first
    moments: list[int] = []
    for message in messages:
        moment = moment if message.occurred_at is None else message.occurred_at
        moments.append(max(moment, FIRST_MOMENT))
        moment += 1
    return moments


async def _derived_session(messages: Sequence[NewMessage]) -> str:
    parts = [digest(message.role, message.content) async for message in paced(messages, lambda each: len(each.content))]
    return digest(*parts)
