"""Compares what a model proposes with what it was shown of the messages that it cites."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from app.domain.messages import Message
from app.grounding import Checker, Source, UngroundedKind, evident
from app.services.learning.transcript import Line

_MOST_TOLD = 5
_NAMED: Final = frozenset[UngroundedKind](("number", "date", "name", "quotation"))
"""What a question may not have that its answer has not; words may be others."""


class Grounding:
    """Tells what of contents the lines do not say of which they were made; each line is read once."""

    def __init__(self, lines: Sequence[Line]) -> None:
        """Take the lines that a model was shown, as far as they are evidence (``evident_lines``)."""
        self._checker = Checker()
        self._sources: dict[str, list[Source]] = {}
        for line in lines:
            self._sources.setdefault(line.message_id, []).append(Source(line.content, line.said_at, line.role))

    def objection(self, content: str, message_ids: Sequence[str]) -> str | None:
        """Return why a content is dropped: what it says that its messages do not; None where they say all of it."""
        sources = [source for id_ in message_ids for source in self._sources.get(id_, ())]
        found = self._checker.ungrounded(content, sources)
        if not found:
            return None
        told = ", ".join(f"{each.kind} “{each.text[:60]}”" for each in found[:_MOST_TOLD])
        return f"Not in what it cites: {told}."


def evident_lines(lines: Sequence[Line], messages: Mapping[str, Message]) -> list[Line]:
    """Return lines without what stands, in the whole message, behind an order to whoever makes memories."""
    evidence = {id_: evident(messages[id_].content) for id_ in {line.message_id for line in lines}}
    return [
        replace(line, content=_part(line, messages[line.message_id].content, len(evidence[line.message_id])))
        for line in lines
    ]


def _part(line: Line, message: str, end: int) -> str:
    """Return what a line has of a message up to a place."""
    if end == len(message):
        return line.content
    begin = message.find(line.content)
    if begin < 0:  # the end of a message of the overlap has a mark before it
        begin = len(message) - len(line.content)
    return line.content[: max(0, end - begin)]


def grounded_queries(queries: Sequence[str], content: str) -> list[str]:
    """Return the questions that name nothing which the memory does not; words may be others."""
    checker = Checker()
    return [each for each in queries if not _named_besides(each, content, checker)]


def grounded_topic(topic: str | None, content: str) -> str | None:
    """Return a topic unless it has a number or a name that the memory has not."""
    return None if topic is None or _named_besides(topic.replace("_", " "), content, Checker()) else topic


def _named_besides(text: str, content: str, checker: Checker) -> bool:
    return any(each.kind in _NAMED for each in checker.ungrounded(text, [Source(content, None)]))
