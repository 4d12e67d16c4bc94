"""Tells what of a statement does not stand in the lines that it cites, and what a reader has still to decide."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Final

from app.domain.words import plain
from app.grounding.compared import ComparedText, GuardedStatement, SourceContents, SourceReading
from app.grounding.evidence import pairs
from app.grounding.guards import GUARDS
from app.grounding.guards.dates import in_words_of_the_sources
from app.grounding.source import Source, Ungrounded

MAX_STATEMENT: Final = 8_000
"""Characters of a statement. A longer one is not grounded: nothing passes that was not read."""
MAX_SOURCES: Final = 64
MAX_SOURCE: Final = 32 * 1024
"""Characters of a source that are read; the rest is no evidence."""
MAX_ALL_SOURCES: Final = 256 * 1024
"""Characters of all sources that are read, the first ones first."""
_MAX_PLACES: Final = 8
"""Places of one source in which a statement is looked for."""
_STOPS = ".!?\u3002"
"""As they are in a text that is compared. No space follows the last one."""
_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f'
_CLOSING = _QUOTES + ")]"


@dataclass(frozen=True, slots=True)
class Checked:
    """What code has found of a statement.

    ``ungrounded``: what its sources do not support. ``stands``: it is one or more sentences of a source, word for word.
    ``pairs``: what a reader is asked otherwise, of which one has to follow.
    """

    ungrounded: Sequence[Ungrounded] = ()
    verbatim: bool = False
    pairs: Sequence[tuple[str, str]] = ()


class Checker:
    """Checks statements by code, and reads each source once, however many cite it."""

    def __init__(self) -> None:
        """Have read nothing yet."""
        self._sources: dict[tuple[Source, int], SourceReading] = {}

    def check(
        self,
        statement: str,
        sources: Sequence[Source],
        *,
        computed: Collection[date] = (),
        guards: Collection[str] = GUARDS.keys(),
    ) -> Checked:
        """Check a statement; ``computed``: days that code has computed of the sources, which are told as well.

        The time is proportional to the length of the statement and the sources.
        """
        if len(statement) > MAX_STATEMENT:
            return Checked([Ungrounded("length", statement[:40])])
        read = list(self._read(sources))
        if not statement.strip() or any(_is_sentence(statement, source.lines) for source in read):
            return Checked(verbatim=True)
        comparison = GuardedStatement(ComparedText(statement), SourceContents(read, computed))
        found = (part for name, guard in GUARDS.items() if name in guards for part in guard(comparison))
        ungrounded = list(dict.fromkeys(found))
        if ungrounded:
            return Checked(ungrounded)
        return Checked(pairs=pairs(in_words_of_the_sources(comparison), comparison.cited))

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


def _is_sentence(statement: str, lines: str) -> bool:
    """Tell whether lines have a statement as one or more of their sentences, outside of quotation marks.

    What somebody quotes, what stands behind a colon, and what is asked is not said: whether it follows is to be read.
    """
    whole = plain(statement)
    wanted = whole.rstrip(_STOPS + " ")
    asks = "?" in whole[len(wanted) :]
    if not wanted:
        return False
    places = islice(_places(wanted, lines), _MAX_PLACES)
    return any(_begins(lines, place) and _ends(lines, place + len(wanted), asks=asks) for place in places)


def _places(wanted: str, lines: str) -> Iterator[int]:
    place = lines.find(wanted)
    while place >= 0:
        yield place
        place = lines.find(wanted, place + len(wanted))


def _begins(lines: str, place: int) -> bool:
    """Tell whether a sentence begins at a place."""
    ahead = lines[lines.rfind("\n", 0, place) + 1 : place]
    if sum(map(ahead.count, _QUOTES)) % 2 == 1:  # they come in twos: the last one has opened a quotation
        return False
    before = ahead.rstrip(" ").rstrip(_CLOSING)[-1:]
    return not ahead or (before in {*_STOPS} and (ahead[-1] == " " or before == _STOPS[-1]))


def _ends(lines: str, place: int, *, asks: bool) -> bool:
    """Tell whether a sentence ends at a place, with a question mark only where it ``asks``."""
    behind = lines[place : place + _MAX_PLACES]
    after = behind.lstrip(_STOPS)
    stops = behind[: len(behind) - len(after)]
    if "?" in stops and not asks:
        return False
    return after[:1] == "\n" or (bool(stops) and (not after[:1].isalnum() or stops[-1] == _STOPS[-1]))
