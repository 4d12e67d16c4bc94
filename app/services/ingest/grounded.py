"""Compares what a model proposes with the messages that it cites."""

from collections.abc import Sequence
from typing import Final

from app.domain.messages import Message
from app.grounding import Source, UngroundedKind, ungrounded

_MOST_TOLD = 5
_NAMED: Final = frozenset[UngroundedKind](("number", "date", "name", "quotation"))
"""What a question may not have that its answer has not; words may be others."""


def grounded(content: str, messages: Sequence[Message]) -> str | None:
    """Return why a content is dropped: what it says that its messages do not; None where they say all of it."""
    sources = [Source(each.content, each.said_at, each.role) for each in messages]
    found = ungrounded(content, sources)
    if not found:
        return None
    told = ", ".join(f"{each.kind} “{each.text[:60]}”" for each in found[:_MOST_TOLD])
    return f"Not in what it cites: {told}."


def grounded_queries(queries: Sequence[str], content: str) -> list[str]:
    """Return the questions that name nothing which the memory does not; words may be others."""
    return [each for each in queries if not _named_besides(each, content)]


def grounded_topic(topic: str | None, content: str) -> str | None:
    """Return a topic unless it has a number or a name that the memory has not."""
    return None if topic is None or _named_besides(topic.replace("_", " "), content) else topic


def _named_besides(text: str, content: str) -> bool:
    return any(each.kind in _NAMED for each in ungrounded(text, [Source(content, None)]))
