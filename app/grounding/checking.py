"""Finds the parts of a statement that its cited lines do not support, and the pairs that a reader has to decide."""

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
"""Characters of a statement. A longer statement is not grounded: no text passes that was not read."""
MAX_SOURCES: Final = 64
MAX_SOURCE: Final = 32 * 1024
"""Characters of a source that are read; the rest is no evidence."""
MAX_ALL_SOURCES: Final = 256 * 1024
"""Characters of all sources that are read, the first ones first."""
_MAX_PLACES: Final = 8
"""Places of one source at which a statement may stand that are checked; also the marks read behind a sentence."""
_STOPS = ".!?\u3002"
"""The stops that end a sentence in a compared text. No space follows the last of them."""
_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f'
_CLOSING = _QUOTES + ")]"


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of the check of a statement by code.

    ``ungrounded``: the parts that its sources do not support. ``verbatim``: the statement is one or more sentences of a
    source, word for word, or is empty. ``pairs``: else a reader reads these pairs, of which one has to follow.
    """

    ungrounded: Sequence[Ungrounded] = ()
    verbatim: bool = False
    pairs: Sequence[tuple[str, str]] = ()


class Checker:
    """Checks statements by code, and reads each source once, even where many statements cite it."""

    def __init__(self) -> None:
        """Begin without any source."""
        self._sources: dict[tuple[Source, int], SourceReading] = {}

    def check(
        self,
        statement: str,
        sources: Sequence[Source],
        *,
        computed: Collection[date] = (),
        guards: Collection[str] = GUARDS.keys(),
    ) -> Checked:
        """Check a statement; ``computed``: days that code has computed of the sources, which support it too.

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
        """Yield the sources as far as the bounds allow them to be read."""
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

    A quotation, a text behind a colon and a question are not stated: a reader decides whether the statement follows.
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
    if sum(map(ahead.count, _QUOTES)) % 2 == 1:  # quotation marks come in pairs: the last mark has opened a quotation
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
