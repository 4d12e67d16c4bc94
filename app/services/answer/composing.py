"""Puts an answer together from sentences of the memories that a recall found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.domain.query import Entry
from app.services.answer.asking import Question
from app.services.answer.dating import with_days
from app.services.answer.differences import Difference, difference
from app.services.answer.plain import day
from app.services.answer.reading import Said, read, sentences_of
from app.services.answer.spoken_lengths import asked as length_asked
from app.services.answer.wording import Stems, Wording

Length = Literal["short", "medium", "long"]

_MAX_FORMERS = 4
"""Memories that one entry came in the place of, the latest, of which answers tell."""
_MAX_LINE = 700
"""Characters that a line takes at most: a sentence, its speaker and its days."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    sentences: int
    formers: int
    characters: int


_BOUNDS: Mapping[Length, _Bounds] = {
    "short": _Bounds(1, 0, 800),
    "medium": _Bounds(3, 2, 2_000),
    "long": _Bounds(8, 8, 6_000),
}
SENTENCES: Mapping[Length, int] = {length: bounds.sentences for length, bounds in _BOUNDS.items()}
"""How many sentences an answer tells."""


@dataclass(frozen=True, slots=True)
class Former:
    """What held before an entry came in its place."""

    content: str
    happened_at: int
    """Since when, ms since the epoch."""
    until: int
    """When it stopped holding, ms since the epoch."""
    speaker: str = ""
    """Who said it, where its content does not name the speaker."""


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A former statement as a memory, of that which came in its place."""

    id: str
    content: str
    metadata: Mapping[str, str]
    created_at: int
    occurred_at: int


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
    asked: Question,
    told: Sequence[Said],
    entries: Sequence[Entry],
    formers: Mapping[str, Sequence[Former]],
    *,
    reference_time: int,
    length: Length,
) -> Answer:
    """Put an answer together of the sentences that are ``told``, the best first.

    What the question asks to be computed of days comes first, then the sentences that tell these; it is computed of
    what ``entries`` tell clearly. Behind the sentences comes what held before them: ``formers`` has it by the id of a
    memory. ``reference_time`` (ms since the epoch) is when the question is asked.
    """
    bounds = _BOUNDS[length]
    computed = _computed(asked, entries, reference_time)
    if computed is None:
        return _written(
            [], told[: bounds.sentences], _before(told, formers, asked.wording)[: bounds.formers], asked, bounds
        )
    ends = list(dict.fromkeys(computed.ends))
    texts = {end.text for end in ends}
    rest = [said for said in told if said.text not in texts][: max(bounds.sentences - len(ends) - 1, 0)]
    return _written([computed.text], [*ends, *rest], [], asked, bounds)


def _computed(asked: Question, entries: Sequence[Entry], reference_time: int) -> Difference | None:
    if length_asked(asked.tokens, asked.wording) is None:
        return None
    sentences = sentences_of([(entry, entry.score) for entry in entries], asked.wording)
    return difference(asked, [said for said in sentences if not said.asks], reference_time)


def _before(told: Iterable[Said], formers: Mapping[str, Sequence[Former]], wording: Wording) -> list[Quote]:
    """Return what held before the memories of sentences, the latest first, where it is one sentence."""
    stems = Stems(wording)
    quotes: dict[tuple[str, int], Quote] = {}
    for id_ in dict.fromkeys(said.origin.memory_id for said in told):
        latest = sorted(formers.get(id_, ()), key=lambda former: (-former.until, -former.happened_at, former.content))
        for former in latest[:_MAX_FORMERS]:
            metadata = {"speaker": former.speaker} if former.speaker else {}
            spoken = _Spoken(id_, former.content, metadata, former.happened_at, former.happened_at)
            sentences = read(spoken, stems, wording.code, most=2)
            if len(sentences) == 1:
                quotes.setdefault((sentences[0].text, former.until), _quote(sentences[0], former.until))
    return sorted(quotes.values(), key=lambda quote: (-(quote.until or 0), quote.text))


def _quote(said: Said, until: int | None = None) -> Quote:
    return Quote(said.origin.memory_id, said.text, said.origin.speaker, said.origin.happened_at, until)


def _written(
    lines: list[str], told: Iterable[Said], before: Iterable[Quote], asked: Question, bounds: _Bounds
) -> Answer:
    """Write the lines that there is room for."""
    frame = asked.wording.frame["before"]
    kept: list[Quote] = []
    room = bounds.characters - sum(map(len, lines))
    for quote in (*map(_quote, told), *before):
        line = (quote.line if quote.until is None else quote.former_line(frame))[:_MAX_LINE]
        room -= len(line) + 1
        if room < 0 and kept:
            break
        lines.append(line)
        kept.append(quote)
    return Answer("\n".join(lines), tuple(kept))
