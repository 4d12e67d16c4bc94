"""Compares what a model proposes with what it was shown of the messages that it cites."""

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
"""Of a reader that is busy: an ingestion waits for it."""


class Grounding:
    """Tells what of contents the lines do not say of which they were made; each line is read once."""

    def __init__(self, lines: Sequence[TranscriptLine], reader: TenantReader | None) -> None:
        """Take the lines that a model was shown, and who decides what follows from them; None: nobody."""
        self._checker = Checker()
        self._reader = reader
        self._sources: dict[str, list[Source]] = {}
        for line in lines:
            self._sources.setdefault(line.message_id, []).append(Source(line.content, line.said_at, line.role))

    async def objections(self, proposals: Sequence[Proposal]) -> list[str | None]:
        """Return why each content is dropped: what it says that its messages do not; None where they say all of it.

        Raises:
            ReaderUnavailable: nobody can tell now.
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
    """Return the pairs of statements of which the second follows from the first; where nobody can tell now, none."""
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
    """Return the questions that name nothing which the memory does not; words may be others."""
    checker = Checker()
    return [query for query in queries if not _named_besides(query, content, checker)]


def grounded_topic(topic: str | None, content: str) -> str | None:
    """Return a topic unless it has a number or a name that the memory has not."""
    return None if topic is None or _named_besides(topic.replace("_", " "), content, Checker()) else topic


def _named_besides(text: str, content: str, checker: Checker) -> bool:
    return bool(checker.check(text, [Source(content, None)], guards=NAMING).ungrounded)
