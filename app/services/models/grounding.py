"""Decides whether statements follow from the lines that they cite: code rejects some, and a reader accepts others."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from app.domain.errors import ReaderUnavailable
from app.grounding import Checked, Checker, Source, Ungrounded
from app.services.models.reader import TenantReader

AT_ONCE: Final = 4
"""Pairs that are read in one call: they take less than its deadline even with other readings between them."""
_PAUSE: Final = 0.5


@dataclass(frozen=True, slots=True)
class CitedStatement:
    """A statement with the lines that it cites; ``computed``: days that code has computed of the lines."""

    text: str
    sources: Sequence[Source]
    computed: Collection[date] = ()


def checked(statements: Sequence[CitedStatement], checker: Checker) -> list[Checked]:
    """Return the findings of code on each statement; the call takes long enough to be run in a thread."""
    return [checker.check(statement.text, statement.sources, computed=statement.computed) for statement in statements]


async def decided(
    statements: Sequence[CitedStatement], found: Sequence[Checked], reader: TenantReader | None, *, tries: int = 1
) -> list[Sequence[Ungrounded]]:
    """Return the parts of each statement that its sources do not support; none where the statement follows.

    A statement that code has rejected does not follow. Another one follows where its words are whole sentences of a
    source, or where the reader gives one of its pairs at least the threshold. ``tries``: how often a busy reader is
    asked.

    Raises:
        ReaderUnavailable: the reader does not answer.
    """
    following = set() if reader is None else await _following(found, reader, tries)
    return [
        _objections(each, check, follows=check.verbatim or number in following)
        for number, (each, check) in enumerate(zip(statements, found, strict=True))
    ]


def _objections(statement: CitedStatement, check: Checked, *, follows: bool) -> Sequence[Ungrounded]:
    if check.ungrounded or follows:
        return check.ungrounded
    return [Ungrounded("claim", statement.text)]


async def _following(found: Sequence[Checked], reader: TenantReader, tries: int) -> set[int]:
    """Return the numbers of the statements that follow; the likeliest pair of each is read before all other pairs."""
    rounds = [
        [(number, check.pairs[0]) for number, check in enumerate(found) if check.pairs],
        [(number, pair) for number, check in enumerate(found) for pair in check.pairs[1:]],
    ]
    following: set[int] = set()
    for asked in rounds:
        open_ = [(number, pair) for number, pair in asked if number not in following]
        for batch in _batches(open_):
            likely = await _asked(reader, [pair for _, pair in batch], tries)
            told = zip(batch, likely, strict=True)
            following.update(number for (number, _), each in told if each >= reader.thresholds.follows)
    return following


def _batches(pairs: Sequence[tuple[int, tuple[str, str]]]) -> Iterator[Sequence[tuple[int, tuple[str, str]]]]:
    return (pairs[first : first + AT_ONCE] for first in range(0, len(pairs), AT_ONCE))


async def _asked(reader: TenantReader, pairs: Sequence[tuple[str, str]], tries: int) -> Sequence[float]:
    for _ in range(tries - 1):
        try:
            return await reader.follows(pairs)
        except ReaderUnavailable:
            await asyncio.sleep(_PAUSE)
    return await reader.follows(pairs)
