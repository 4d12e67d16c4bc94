"""Tells what of a statement does not stand in the lines that it cites."""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import TypeAlias

from app.grounding.evidence import Reading, inherit, is_needless, read
from app.grounding.known import WORDS, Known, SourceReading, gathered, names_in, parts, plain, within
from app.grounding.quantities import Quantity
from app.grounding.reading import Clause, Word, clauses, folded
from app.grounding.source import Source, Ungrounded
from app.grounding.support import objection
from app.grounding.told_days import Told, supported, told
from app.grounding.wording import Stems, Wording, wording_of

MAX_STATEMENT = 8_000
"""Characters of a statement. A longer one is not grounded: nothing passes that was not read."""
MAX_SOURCES = 64
MAX_SOURCE = 32 * 1024
"""Characters of a source that are read; the rest is no evidence."""
MAX_ALL_SOURCES = 256 * 1024
"""Characters of all sources that are read, the first ones first."""
_MAX_CLAUSES = 200
_MAX_QUOTATIONS = 16
_QUOTED = re.compile(
    '["\u201c\u201d\u201e\u00ab\u00bb]([^"\u201c\u201d\u201e\u00ab\u00bb]{1,2000})["\u201c\u201d\u201e\u00ab\u00bb]'
)
_PLACEHOLDER = re.compile(
    r"\{[^{}\n]{0,60}\}|[{}]|<[^<>\n]{1,60}>|\[[A-Z_ ]{2,40}\]|%[sd](?!\w)|\$\w{0,40}\$|</?\w{1,40}"
)
_KnownBy: TypeAlias = tuple[tuple[int, ...], tuple[frozenset[str], ...], frozenset[date], str]
_ENDS = frozenset('.!?\u2026\n"\u201c\u201d\u00ab\u00bb)')


class Checker:
    """Tells what of statements their sources do not support, and reads each source once, however many cite it."""

    def __init__(self) -> None:
        """Have read nothing yet."""
        self._sources: dict[tuple[Source, int, str], SourceReading] = {}
        self._known: dict[_KnownBy, Known] = {}

    def ungrounded(
        self, statement: str, sources: Sequence[Source], *, computed: Collection[date] = ()
    ) -> list[Ungrounded]:
        """Return what of a statement its sources do not support, as the function ``ungrounded`` does."""
        if len(statement) > MAX_STATEMENT:
            return [Ungrounded("word", statement[MAX_STATEMENT : MAX_STATEMENT + 40])]
        wording = wording_of(WORDS.findall(folded(statement)))
        read = list(self._read(sources, wording))
        if not statement.strip() or _said_word_for_word(statement, read):
            return []
        said = clauses(statement, wording, Stems(wording))
        if len(said) > _MAX_CLAUSES:
            return [Ungrounded("word", said[_MAX_CLAUSES].words[0].text)]
        names = names_in(said).union(*(each.names for each in read))
        key = (tuple(map(id, read)), tuple(each.of_it(names) for each in read), frozenset(computed), wording.code)
        if key not in self._known:
            self._known[key] = gathered(read, wording, names, computed)
        return list(dict.fromkeys(_checked(statement, said, self._known[key], wording, names)))

    def _read(self, sources: Sequence[Source], wording: Wording) -> Iterator[SourceReading]:
        """Give the sources as far as they are read: within the bounds."""
        left = MAX_ALL_SOURCES
        for source in sources[:MAX_SOURCES]:
            size = min(len(source.text), MAX_SOURCE, left)
            left -= size
            key = (source, size, wording.code)
            if key not in self._sources:
                cut = Source(source.text[:size], source.said_at, source.speaker)
                self._sources[key] = SourceReading(cut, wording)
            yield self._sources[key]


def ungrounded(statement: str, sources: Sequence[Source], *, computed: Collection[date] = ()) -> list[Ungrounded]:
    """Return what of a statement its sources do not support, in the order in which it was found; empty: grounded.

    ``computed``: days that code has computed from dates of the sources, which are told as well. English, Swedish and
    German are understood; a statement in another language is grounded where it stands in a source word for word. The
    time is proportional to the length of the statement and the sources. ``Checker`` is for several statements.
    """
    return Checker().ungrounded(statement, sources, computed=computed)


def _checked(statement: str, said: list[Clause], known: Known, wording: Wording, names: set[str]) -> list[Ungrounded]:
    times = told(statement, None)
    found = [*_placeholders(statement, known), *_quotations(statement, known)]
    found.extend(_times(statement, times, known, wording))
    unsaid = {word.starts for clause in said for word in clause.words if within(word, times)}
    readings = [read(clause, wording, names, unsaid) for clause in said]
    inherit(readings, wording)
    for reading in readings:
        found.extend(_numbers(reading, known, unsaid))
        found.extend(_unknown(reading, known, wording, unsaid))
    if not found:
        found.extend(_claims(statement, readings, known, wording))
    return found


def _claims(statement: str, readings: Sequence[Reading], known: Known, wording: Wording) -> list[Ungrounded]:
    found = []
    for reading in readings:
        kind = objection(reading, known.grounds, wording)
        if kind is not None:
            words = reading.clause.words
            found.append(Ungrounded(kind, statement[words[0].starts : words[-1].ends]))
    return found


def _unknown(reading: Reading, known: Known, wording: Wording, unsaid: set[int]) -> list[Ungrounded]:
    """Return the words that no source has."""
    found = []
    words = reading.clause.words
    counted = _counted(reading, unsaid)
    for place, word in enumerate(words):
        if word.starts in unsaid or word.starts in counted or is_needless(word, wording):
            continue
        after = words[place + 1] if place + 1 < len(words) else None
        labels = after is not None and word.folded in wording.words["labels"] and after.text[:1].isdigit()
        if labels or wording.phrases["light"].at(reading.said, place):
            continue
        if not _is_known(word, known, wording):
            named = word.coded or (word.capital and (not word.first or (after is not None and after.capital)))
            found.append(Ungrounded("name" if named else "word", word.text))
    return found


def _is_known(word: Word, known: Known, wording: Wording) -> bool:
    if word.folded in known.exact or word.folded.replace("-", "") in known.exact:
        return True
    if word.coded and any(letter.isdigit() for letter in word.text):
        return False
    pieces = parts(word.folded)
    if pieces and all(_is_part(part, known, wording) for part in pieces):
        return True
    base = wording.denied(word.stem)
    if base is not None:
        return not base or base in known.stems
    if word.capital and word.folded.removesuffix("s") in known.exact:
        return True
    named = word.capital and not word.first and wording.code != "de"
    return not named and word.stem in known.stems


def _is_part(part: str, known: Known, wording: Wording) -> bool:
    """Tell whether a part of a compound is said, or needs no evidence."""
    return part in known.exact or part in wording.needless or wording.stem(part) in known.stems


def _counted(reading: Reading, unsaid: set[int]) -> set[int]:
    """Return where the words of a clause stand that belong to its quantities."""
    words = [word for word in reading.clause.words if word.starts not in unsaid]
    return {words[place].starts for each in reading.quantities for place in range(each.start, each.end)}


def _numbers(reading: Reading, known: Known, unsaid: set[int]) -> list[Ungrounded]:
    words = [word for word in reading.clause.words if word.starts not in unsaid]
    return [
        Ungrounded("number", " ".join(word.text for word in words[each.start : each.end]))
        for each in reading.quantities
        if not _is_told(each, known)
    ]


def _is_told(each: Quantity, known: Known) -> bool:
    if each.key in known.numbers:
        return True
    if each.unit == "":
        return any(number[0] == each.value for number in known.numbers if isinstance(number, tuple))
    return False


def _times(statement: str, times: list[Told], known: Known, wording: Wording) -> list[Ungrounded]:
    words = tuple(WORDS.findall(folded(statement)))
    days = set(known.days)
    if wording.phrases["reporting"].within(words):
        days.update((today, today + 1) for today in known.today)
    found = []
    for each in times:
        readings = [each]
        if not each.fixed:
            readings.extend(
                other
                for today in dict.fromkeys(known.today)
                for other in told(statement[each.starts : each.ends], today)
            )
        named = each.weekday is not None and each.text in known.exact  # "every Friday" tells no day
        if not named and not any(supported(reading, known.told, days) for reading in readings):
            found.append(Ungrounded("date", statement[each.starts : each.ends].strip(" .")))
    return found


def _quotations(statement: str, known: Known) -> list[Ungrounded]:
    found = []
    for number, match in enumerate(_QUOTED.finditer(statement)):
        quoted = plain(match[1]).strip(" .,!?;:")
        if number >= _MAX_QUOTATIONS or not _stands_in(quoted, known.text):
            found.append(Ungrounded("quotation", match[1]))
    return found


def _stands_in(part: str, text: str) -> bool:
    """Tell whether a part stands in a text as whole words."""
    place = text.find(part)
    if place < 0:
        return False
    before, after = text[place - 1 : place], text[place + len(part) : place + len(part) + 1]
    return not (before.isalnum() and part[:1].isalnum()) and not (after.isalnum() and part[-1:].isalnum())


def _placeholders(statement: str, known: Known) -> list[Ungrounded]:
    return [
        Ungrounded("word", match[0]) for match in _PLACEHOLDER.finditer(statement) if plain(match[0]) not in known.text
    ]


def _said_word_for_word(statement: str, sources: Sequence[SourceReading]) -> bool:
    """Tell whether a source has a statement as one or more of its sentences."""
    wanted = plain(statement).rstrip(".!?\u2026 ")
    for source in sources:
        text = source.lines
        place = text.find(wanted)
        if place < 0:
            continue
        before, after = text[:place].rstrip(" "), text[place + len(wanted) :]
        if (not before or before[-1] in _ENDS) and (not after.strip() or after.lstrip(" ")[0] in _ENDS):
            return True
    return False
