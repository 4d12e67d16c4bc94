"""Puts an answer together from the sentences of the memories that a recall found."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.domain.query import Entry
from app.services.answer.asking import Question, question
from app.services.answer.choosing import Choice, answering, distinct, shortlisted, weighed
from app.services.answer.dating import with_days
from app.services.answer.differences import Difference, difference
from app.services.answer.holding import Corrections, Former, Stated, corrected, formers_of
from app.services.answer.plain import day
from app.services.answer.reading import Said, sentences_of, stated

Length = Literal["short", "medium", "long"]

MAX_ENTRIES = 20
"""No more entries are read: the best by their score."""

_NONE: Corrections = {}
_MAX_LINE = 700
"""Characters that a line takes at most: a sentence, its speaker and its days."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    sentences: int
    formers: int
    characters: int


_BOUNDS: Mapping[Length, _Bounds] = {
    "short": _Bounds(1, 1, 800),
    "medium": _Bounds(3, 2, 2_000),
    "long": _Bounds(8, 8, 6_000),
}


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of an answer as it stands in its memory, in one line."""

    memory_id: str
    """Of a former statement: the memory that came in its place."""
    text: str
    speaker: str
    happened_at: int
    """ms since the epoch."""
    until: int | None = None
    """When it stopped holding, ms since the epoch; None: it holds, as far as is known."""

    @property
    def line(self) -> str:
        """The sentence with its day, or the day until which it held, who said it, and the days it speaks of."""
        head = f"{day(self.happened_at)}, {self.speaker}" if self.speaker else day(self.happened_at)
        return f"{head}: {with_days(self.text, self.happened_at)}"

    def former_line(self, frame: str) -> str:
        """Return the line of what no longer holds, where ``frame`` says "Before {day}" in some language."""
        head = frame.format(day=day(self.until or 0))
        head = f"{head}, {self.speaker}" if self.speaker else head
        return f"{head}: {with_days(self.text, self.happened_at)}"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, a line for each sentence; "" where nothing is known."""

    text: str = ""
    quotes: Sequence[Quote] = ()
    """The sentences that it is made of, and those that tell the days of what was computed."""

    @property
    def cited(self) -> Sequence[str]:
        """The ids of the memories that its sentences come from, each once."""
        return tuple(dict.fromkeys(quote.memory_id for quote in self.quotes))


def compose(
    query: str,
    entries: Sequence[Entry],
    formers: Mapping[str, Sequence[Former]],
    *,
    reference_time: int,
    length: Length,
    min_score: float = 0.5,
    corrections: Corrections = _NONE,
) -> Answer:
    """Answer a query with the best sentences of the entries that score at least ``min_score``.

    ``formers`` has by an entry's id what held before it, ``corrections`` by the id of an entry those that correct it;
    ``reference_time`` (ms since the epoch) is when the query is asked. What the query asks to be computed comes first,
    then the sentences, the best first. A sentence that no longer holds is marked so. The order of the entries changes
    nothing.
    """
    confident = sorted((entry for entry in entries if entry.score >= min_score), key=_order)[:MAX_ENTRIES]
    asked = question(query, reference_time)
    sentences = sentences_of([(entry, entry.score) for entry in confident], asked.wording)
    candidates = [said for said in sentences if asked.of_questions or not said.asks]
    if not candidates:
        return Answer()
    shortlist = shortlisted(candidates, asked)
    found: Stated = {choice.said: stated(choice.said) for choice in shortlist}
    contents = {entry.id: entry.content for entry in confident}
    ended = corrected(found, contents, formers, reference_time, corrections)
    computed = difference(asked, [said for said in candidates if said not in ended], reference_time)
    if computed is not None:  # it may be of sentences that were not looked at
        told = {**{said: stated(said) for said in computed.ends}, **found}
        if not corrected(told, contents, formers, reference_time, corrections).keys().isdisjoint(computed.ends):
            computed = None
    choices = weighed(shortlist, found, asked)
    holding = [choice for choice in choices if choice.said not in ended]
    chosen = _chosen(holding or choices, computed, _BOUNDS[length])
    before = [] if computed else _before(chosen, found, ended, formers, asked, length)
    return _written(chosen, before, ended, computed, asked, _BOUNDS[length])


def _order(entry: Entry) -> tuple[float, int, str, str]:
    return -entry.score, -entry.happened_at, entry.id, entry.content


def _chosen(choices: Sequence[Choice], computed: Difference | None, bounds: _Bounds) -> list[Said]:
    """Return the sentences of an answer: those that tell the days of what was computed, and the best."""
    if computed is not None:
        ends_ = list(dict.fromkeys(computed.ends))
        rest = [choice.said for choice in distinct(choices) if choice.said not in ends_]
        return ends_ + rest[: max(bounds.sentences - len(ends_) - 1, 0)]
    return [choice.said for choice in answering(choices)[: bounds.sentences]]


def _before(
    chosen: Collection[Said],
    found: Stated,
    ended: Mapping[Said, int],
    formers: Mapping[str, Sequence[Former]],
    asked: Question,
    length: Length,
) -> list[Quote]:
    """Return what held before the sentences of an answer, where the question asks for it or for its key."""
    quotes: dict[tuple[frozenset[str], int], Quote] = {}
    for said, statement in sorted(found.items(), key=lambda each: each[0].order):
        keyed = statement is not None and statement.key in asked.keys and length != "short"
        if not (asked.history or keyed):
            continue
        if said in ended and said not in chosen:
            quotes.setdefault((said.words, ended[said]), _quote(said, ended[said]))
        elif said not in ended and said in chosen:
            for former, until in formers_of(said, statement, formers.get(said.origin.memory_id, ()), asked.wording):
                quotes.setdefault((former.words, until), _quote(former, until))
    latest = sorted(quotes.values(), key=lambda quote: (-(quote.until or 0), quote.text))
    return latest[: _BOUNDS[length].formers]


def _quote(said: Said, until: int | None) -> Quote:
    return Quote(said.origin.memory_id, said.text, said.origin.speaker, said.origin.happened_at, until)


def _written(
    chosen: Iterable[Said],
    before: Sequence[Quote],
    ended: Mapping[Said, int],
    computed: Difference | None,
    asked: Question,
    bounds: _Bounds,
) -> Answer:
    """Write the lines that there is room for: what was computed, then what is asked for first, now or before."""
    now = [_quote(said, ended.get(said)) for said in chosen]
    frame = asked.wording.frame["before"]
    ordered = [*before, *now] if asked.history else [*now, *before]
    lines = [] if computed is None else [computed.text]
    kept: list[Quote] = []
    room = bounds.characters - sum(map(len, lines))
    for quote in ordered:
        line = (quote.line if quote.until is None else quote.former_line(frame))[:_MAX_LINE]
        room -= len(line) + 1
        if room < 0 and kept:
            break
        lines.append(line)
        kept.append(quote)
    return Answer("\n".join(lines), kept)
