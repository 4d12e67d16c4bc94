"""Compares a model's proposals with the lines that the model was shown of the messages that they cite."""

import asyncio
from collections.abc import Sequence
from typing import Final

import structlog

from app.domain.errors import ReaderUnavailable
from app.domain.learned import Proposal
from app.grounding import Checker, Source, Ungrounded
from app.grounding.guards import NAMING
from app.services.learning.merging import Contents
from app.services.learning.transcript import TranscriptLine
from app.services.models.grounding import CitedStatement, checked, decided
from app.services.models.reader import TenantReader

_MOST_TOLD = 5
_TRIES: Final = 4
"""Calls to a busy reader, at most: an ingestion waits for the reader."""


class Grounding:
    """Tells which parts of proposals the lines that they cite do not support; each line is read once."""

    def __init__(self, lines: Sequence[TranscriptLine], reader: TenantReader | None) -> None:
        """Take the lines that a model was shown, and the reader that decides what follows from them, or None."""
        self._checker = Checker()
        self._reader = reader
        self._sources: dict[str, list[Source]] = {}
        for line in lines:
            self._sources.setdefault(line.message_id, []).append(Source(line.content, line.said_at, line.role))

    async def objections(self, proposals: Sequence[Proposal]) -> list[str | None]:
        """Return for each proposal the reason to drop it: the parts that its messages do not say; None without any.

        Raises:
            ReaderUnavailable: the reader does not answer.
        """
        cited = [
            CitedStatement(
                proposal.content, [source for id_ in proposal.message_ids for source in self._sources.get(id_, ())]
            )
            for proposal in proposals
        ]
        found = await asyncio.to_thread(checked, cited, self._checker)
        return [_told(each) for each in await decided(cited, found, self._reader, tries=_TRIES)]


async def following(pairs: Sequence[Contents], reader: TenantReader | None) -> list[Contents]:
    """Return the pairs of statements whose second follows from the first; none where the reader does not answer."""
    claims = [CitedStatement(second, [Source(first, None)]) for first, second in pairs]
    try:
        objections = await decided(claims, await asyncio.to_thread(checked, claims, Checker()), reader)
    except ReaderUnavailable as error:
        structlog.get_logger().warning("reader_away", code=error.code, reason=error.detail)
        return []
    return [pair for pair, found in zip(pairs, objections, strict=True) if not found]


def _told(found: Sequence[Ungrounded]) -> str | None:
    if not found:
        return None
    told = ", ".join(f"{unsaid.kind} “{unsaid.text[:60]}”" for unsaid in found[:_MOST_TOLD])
    return f"Not in what it cites: {told}."


def grounded_queries(queries: Sequence[str], content: str) -> list[str]:
    """Return the questions whose names, numbers and dates the memory has too; their other words may differ."""
    checker = Checker()
    return [query for query in queries if not _named_besides(query, content, checker)]


def grounded_topic(topic: str | None, content: str) -> str | None:
    """Return the topic, or None where it has a number, a date or a name that the memory does not have."""
    return None if topic is None or _named_besides(topic.replace("_", " "), content, Checker()) else topic


def _named_besides(text: str, content: str, checker: Checker) -> bool:
    return bool(checker.check(text, [Source(content, None)], guards=NAMING).ungrounded)
