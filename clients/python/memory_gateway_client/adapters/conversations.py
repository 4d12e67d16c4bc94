"""Conversations of a framework on their way into an agent's memory."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memory_gateway_client import Ingested, MemoryGatewayError, QuotaExceeded, Unavailable
from memory_gateway_client.adapters.asking import Asking
from memory_gateway_client.adapters.texts import pieces

_MOST_MESSAGES = 500
_MOST_BYTES = 4 * 1024 * 1024
"""Of the contents of one request: their JSON may be four times as long, and a body has at most 20 MiB."""
_NAMED = re.compile(r"messages\.(\d+)\b")


@dataclass(frozen=True, slots=True)
class Said:
    """Something that was said in a conversation."""

    role: Literal["user", "assistant", "system"]
    content: str
    at: datetime | None = None


async def remember(
    asking: Asking, said: Iterable[Said], *, agent_id: str, session_id: str
) -> MemoryGatewayError | None:
    """Make memories of what was said; the same again changes nothing. Return why that failed, if it did.

    What is longer than a memory becomes several. What the service refuses, such as a key where it keeps none, is left
    out, and the rest is kept; a time that it refuses is left out alone.

    Raises:
        MemoryGatewayError: as ``Asking.ask`` raises it.
    """
    for part in _requests(said):
        failure = await _ingest(asking, part, agent_id, session_id)
        if failure is not None:
            return failure
    return None


async def _ingest(
    asking: Asking, messages: Sequence[dict[str, Any]], agent_id: str, session_id: str
) -> MemoryGatewayError | None:
    answer = await asking.ask(
        lambda client: client.ingest(messages, agent_id=agent_id, session_id=session_id), failure=_not_stored
    )
    if not isinstance(answer, MemoryGatewayError):
        return None
    refused = {int(number) for error in answer.errors for number in _NAMED.findall(error.field)}
    if refused.isdisjoint(range(len(messages))):
        return answer
    # Its time may be what is wrong with a message, and does not make it what it is.
    left = [
        {**message, "occurred_at": None} if number in refused else message
        for number, message in enumerate(messages)
        if number not in refused or message["occurred_at"] is not None
    ]
    return await _ingest(asking, left, agent_id, session_id) if left else None


def _not_stored(answer: Ingested) -> MemoryGatewayError | None:
    """Return the error of a request of which the service has stored only a part; None: it has, or will store, all."""
    if not answer.failed:
        return None
    code = next((each.code for each in answer.messages if each.status == "failed" and each.code), None)
    kind = QuotaExceeded if code == QuotaExceeded.code else Unavailable
    return kind(f"{answer.failed} of {len(answer.messages)} messages were not stored.", code=code)


def _requests(said: Iterable[Said]) -> Iterator[list[dict[str, Any]]]:
    """Put together what one request can hold."""
    messages: list[dict[str, Any]] = []
    size = 0
    for each in said:
        for piece in pieces(each.content):
            length = len(piece.encode())
            if messages and (len(messages) == _MOST_MESSAGES or size + length > _MOST_BYTES):
                yield messages
                messages, size = [], 0
            messages.append({"role": each.role, "content": piece, "occurred_at": each.at})
            size += length
    if messages:
        yield messages
