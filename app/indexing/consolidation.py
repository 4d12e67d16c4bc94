"""Finds which memories of one agent restate each other, a page at a time. It crosses no agent, and writes nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import Final, Protocol, TypeAlias

from app.domain.comparing import sentences
from app.domain.consolidation import Merge, Mergeable, Restated, Wordings, merges_of
from app.domain.memory import Scope
from app.domain.reading import SURELY_RESTATES, Relation, is_readable
from app.grounding.restating import is_of_its_day, says_all, tells
from app.grounding.source import Source
from app.ports.database import Row
from app.storage.consolidating import Consolidating, MemoryPosition, Pair, read_page
from app.storage.rows import read_rows
from app.storage.scoped import ScopedStatement

RunStatements: TypeAlias = Callable[[Sequence[ScopedStatement]], Awaitable[list[list[Row]]]]
"""Runs statements of the agent, and returns the rows of each statement."""
MAX_MEMORIES: Final = 200_000
"""How many of an agent's newest memories are compared word for word: about 50 MB are held meanwhile."""
MAX_PAIRS: Final = 20_000
"""How many pairs of an agent's memories the reader compares at most."""
_AT_ONCE: Final = 16
"""Pairs that are read in one call, and memories that are compared without a pause."""


async def _others_first() -> None:
    await asyncio.sleep(0)


class ReadsRelations(Protocol):
    """The part of a reader that a consolidation needs."""

    async def relations(self, pairs: Sequence[tuple[str, str]], /) -> Sequence[Relation]:
        """Return the relation of the second text of each pair to the first."""
        ...


class ScopeConsolidation:
    """Compares those memories of one agent that hold with one another."""

    def __init__(
        self,
        scope: Scope,
        run: RunStatements,
        reader: ReadsRelations | None,
        *,
        pause: Callable[[], Awaitable[None]] = _others_first,
    ) -> None:
        """Bind the agent; without a reader only memories that are alike word for word are found.

        ``pause`` is awaited between parts of the work: requests go first.
        """
        self._pause = pause
        self._scope = scope
        self._run = run
        self._reader = reader
        self._statements = Consolidating(scope)
        self.is_cut = False
        """Whether the agent had more memories or pairs than were compared."""

    async def alike(self, most: int = MAX_MEMORIES) -> Sequence[Merge]:
        """Return the merges of memories that are alike word for word, of the newest ``most`` memories.

        Words are compared as they are written, but for the width of spaces; facts are compared by their parts.
        """
        wordings, looked_at = Wordings(), 0
        async for page in self._pages():
            for number, memory in enumerate(page):
                if wordings.add(memory):
                    wordings.tell(memory, is_of_its_day=is_of_its_day(memory.content))
                if number % _AT_ONCE == 0:
                    await self._pause()
            looked_at += len(page)
            if looked_at >= most:
                self.is_cut = True
                break
        return wordings.merges(self._scope.agent_id)

    async def restated(self, most: int = MAX_PAIRS, *, without: Collection[str] = ()) -> Sequence[Merge]:
        """Return the merges of texts that restate each other as the reader finds, of at most ``most`` pairs.

        Each text restates the other, and the text that is kept has every number, date, name and quotation of the other.
        Memories that are alike word for word are merged before: ``without`` has the ids of those whose merge is still
        to come.

        Raises:
            ReaderUnavailable: the reader does not answer.
        """
        if self._reader is None:
            return []
        found: list[tuple[Restated, Restated]] = []
        asked = 0
        after: Pair | None = None
        while asked < most:
            (rows,) = await self._run([self._statements.pairs(after)])
            pairs = read_rows(Pair, rows)
            if not pairs:
                return merges_of(self._scope.agent_id, found)
            after, asked = pairs[-1], asked + len(pairs)
            both = [pair.memories for pair in pairs if not {pair.older_id, pair.newer_id} & set(without)]
            found += await self._confirmed([side for side in both if side is not None])
        self.is_cut = True
        return merges_of(self._scope.agent_id, found)

    async def _pages(self) -> AsyncIterator[list[Mergeable]]:
        after: MemoryPosition | None = None
        while True:
            (rows,) = await self._run([self._statements.page(after)])
            memories, after = read_page(rows)
            if after is None:
                return
            yield [memory for memory in memories if not memory.is_of_a_machine]

    async def _confirmed(self, pairs: Sequence[tuple[Mergeable, Mergeable]]) -> list[tuple[Restated, Restated]]:
        """Return the pairs that may be merged; the second memory of each pair is kept."""
        likely: list[tuple[Mergeable, Mergeable, tuple[Restated, Restated]]] = []
        for older, newer in pairs:
            if (chosen := _chosen(older, newer)) is not None:
                likely.append((older, newer, chosen))
            await self._pause()
        confirmed = []
        for first in range(0, len(likely), _AT_ONCE):
            chunk = likely[first : first + _AT_ONCE]
            both_ways = await self._read([(older.content, newer.content) for older, newer, _ in chunk])
            confirmed += [chosen for (_, _, chosen), yes in zip(chunk, both_ways, strict=True) if yes]
        return confirmed

    async def _read(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """Return for each pair whether each of its texts restates the other."""
        if self._reader is None:
            return [False for _ in pairs]
        answers = await self._reader.relations([*pairs, *((newer, older) for older, newer in pairs)])
        sure = [answer.restates >= SURELY_RESTATES for answer in answers]
        return [one and other for one, other in zip(sure[: len(pairs)], sure[len(pairs) :], strict=True)]


def _chosen(older: Mergeable, newer: Mergeable) -> tuple[Restated, Restated] | None:
    """Return two texts, of which the second would be kept; None where a check by code rules the merge out."""
    if older.said_by != newer.said_by or older.kind != "memory" or older.is_of_a_machine:
        return None
    if not all(is_readable(each.content) and len(sentences(each.content)) <= 1 for each in (older, newer)):
        return None
    if not _are_of_one_day(older, newer):
        return None
    other, kept = sorted((_restated(older), _restated(newer)), key=lambda one: one.rank)
    texts = {each.id: Source(each.content, each.happened_at, each.speaker) for each in (older, newer)}
    if not kept.may_be_kept(other) or not says_all(texts[kept.id], texts[other.id]):
        return None
    return other, kept


def _are_of_one_day(older: Mergeable, newer: Mergeable) -> bool:
    """Return whether two texts mean the same day, as far as they mean a day."""
    if older.own_day != newer.own_day:
        return False
    return older.day == newer.day or not any(is_of_its_day(each.content) for each in (older, newer))


def _restated(memory: Mergeable) -> Restated:
    return Restated(memory.id, memory.happened_at, tells(memory.content), memory.learned)
