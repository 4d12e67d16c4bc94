"""Tells what of a statement does not stand in the lines that it cites, and what a reader has still to decide."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from app.grounding.evidence import pairs
from app.grounding.guards import GUARDS
from app.grounding.guards.dates import in_words_of_the_sources
from app.grounding.known import Claim, Comparison, Known, SourceReading
from app.grounding.reading import plain
from app.grounding.source import Source, Ungrounded

MAX_STATEMENT: Final = 8_000
"""Characters of a statement. A longer one is not grounded: nothing passes that was not read."""
MAX_SOURCES: Final = 64
MAX_SOURCE: Final = 32 * 1024
"""Characters of a source that are read; the rest is no evidence."""
MAX_ALL_SOURCES: Final = 256 * 1024
"""Characters of all sources that are read, the first ones first."""
_ENDS = frozenset('.!?\u2026\n"\u201c\u201d\u00ab\u00bb)')
_PARTS = frozenset(";:(\u2014\u2013")
"""Marks behind which a clause begins that is read by itself."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What code has found of a statement.

    ``ungrounded``: what its sources do not support. ``stands``: it is a sentence of a source, or its words stand in one
    as a clause. ``pairs``: what a reader is asked, of which one has to follow, where nothing was found.
    """

    ungrounded: Sequence[Ungrounded] = ()
    stands: bool = False
    pairs: Sequence[tuple[str, str]] = ()


class Checker:
    """Checks statements by code, and reads each source once, however many cite it."""

    def __init__(self) -> None:
        """Have read nothing yet."""
        self._sources: dict[tuple[Source, int], SourceReading] = {}

    def check(self, statement: str, sources: Sequence[Source], *, computed: Collection[date] = ()) -> Checked:
        """Check a statement; ``computed``: days that code has computed of the sources, which are told as well.

        The time is proportional to the length of the statement and the sources.
        """
        if len(statement) > MAX_STATEMENT:
            return Checked([Ungrounded("length", statement[:40])])
        read = list(self._read(sources))
        if not statement.strip() or _is_sentence(statement, read):
            return Checked(stands=True)
        comparison = Comparison(Claim.of(statement), Known(read, computed))
        found = _found(comparison, GUARDS)
        if found:
            return Checked(found)
        return Checked([], _is_clause(statement, read), pairs(in_words_of_the_sources(comparison), comparison.known))

    def ungrounded(
        self,
        statement: str,
        sources: Sequence[Source],
        *,
        computed: Collection[date] = (),
        guards: Collection[str] = GUARDS.keys(),
    ) -> list[Ungrounded]:
        """Return what guards find of a statement, in the order in which it was found."""
        if len(statement) > MAX_STATEMENT:
            return [Ungrounded("length", statement[:40])]
        read = list(self._read(sources))
        if not statement.strip() or _is_sentence(statement, read):
            return []
        return _found(Comparison(Claim.of(statement), Known(read, computed)), guards)

    def _read(self, sources: Sequence[Source]) -> Iterator[SourceReading]:
        """Give the sources as far as they are read: within the bounds."""
        left = MAX_ALL_SOURCES
        for source in sources[:MAX_SOURCES]:
            size = min(len(source.text), MAX_SOURCE, left)
            left -= size
            key = (source, size)
            if key not in self._sources:
                self._sources[key] = SourceReading(Source(source.text[:size], source.said_at, source.speaker))
            yield self._sources[key]


def _found(comparison: Comparison, guards: Collection[str]) -> list[Ungrounded]:
    found = (each for name, guard in GUARDS.items() if name in guards for each in guard(comparison))
    return list(dict.fromkeys(found))


def _is_sentence(statement: str, sources: Sequence[SourceReading]) -> bool:
    """Tell whether a source has a statement as one or more of its sentences."""
    return _stands(statement, sources, _ENDS, _ENDS)


def _is_clause(statement: str, sources: Sequence[SourceReading]) -> bool:
    """Tell whether a source has a statement between marks that are stronger than a comma."""
    return _stands(statement, sources, _ENDS | _PARTS, _ENDS | _PARTS)


def _stands(statement: str, sources: Sequence[SourceReading], before: frozenset[str], after: frozenset[str]) -> bool:
    wanted = plain(statement).rstrip(".!?\u2026 ")
    for source in sources:
        text = source.lines
        place = text.find(wanted)
        if place < 0:
            continue
        ahead, behind = text[:place].rstrip(" "), text[place + len(wanted) :].lstrip(" ")
        if (not ahead or ahead[-1] in before) and (not behind.strip() or behind[0] in after):
            return True
    return False
