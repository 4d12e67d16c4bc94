"""Puts an answer together from sentences of the memories that a recall found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.language.dates.days import with_days
from app.services.answering.computing import ComputedAnswer
from app.services.learning.plain import day
from app.services.learning.reading import Former, MemorySentence, moment, read, until

Length = Literal["short", "medium", "long"]

_MAX_FORMERS = 4
"""Former memories of one entry that an answer quotes at most, the latest."""
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


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of an answer as it stands in its memory."""

    sentence: MemorySentence
    memory_id: str
    """The id of the sentence's memory; for a former statement, of the memory that came in its place."""
    until: int | None = None
    """When the statement stopped holding, ms since the epoch; None: it holds, as far as is known."""

    @property
    def text(self) -> str:
        """The sentence, in one line."""
        return self.sentence.text

    @property
    def line(self) -> str:
        """The sentence with its day, or the day until which it held, its speaker, and the days it speaks of."""
        sentence = self.sentence
        head = day(sentence.happened_at) if self.until is None else f"Before {day(self.until)}"
        head = f"{head}, {sentence.speaker}" if sentence.speaker else head
        return f"{head}: {with_days(sentence.text, sentence.happened_at)}"[:_MAX_LINE]


@dataclass(frozen=True, slots=True)
class ComposedAnswer:
    """An answer, a line for each sentence; "" where nothing is known."""

    text: str = ""
    quotes: Sequence[Quote] = ()
    """The sentences of the answer, and those that tell the days of a computed answer."""

    @property
    def cited(self) -> Sequence[str]:
        """The ids of the memories that the sentences come from, each once."""
        return tuple(dict.fromkeys(quote.memory_id for quote in self.quotes))


def compose(
    sentences: Sequence[MemorySentence],
    computed: ComputedAnswer | None,
    formers: Mapping[str, Sequence[Former]],
    length: Length,
) -> ComposedAnswer:
    """Put an answer together of sentences, the best first.

    A computed answer comes first, then the sentences that tell its days, then the others. Without a computed answer,
    the sentences are followed by the statements that held before: ``formers`` has these by the id of a memory.
    """
    bounds = _BOUNDS[length]
    if computed is not None:
        texts = {sentence.text for sentence in computed.sentences}
        rest = [sentence for sentence in sentences if sentence.text not in texts]
        both = [*computed.sentences, *rest[: max(bounds.sentences - len(texts) - 1, 0)]]
        return _written([computed.text], [Quote(sentence, sentence.memory_id) for sentence in both], bounds)
    chosen = sentences[: bounds.sentences]
    quotes = [Quote(sentence, sentence.memory_id) for sentence in chosen]
    return _written([], [*quotes, *_before(chosen, formers)[: bounds.formers]], bounds)


def _before(sentences: Iterable[MemorySentence], formers: Mapping[str, Sequence[Former]]) -> list[Quote]:
    """Return the former statements of the sentences' memories, the latest first; only those of a single sentence."""
    quotes: dict[tuple[str, int], Quote] = {}
    for id_ in dict.fromkeys(sentence.memory_id for sentence in sentences):
        latest = sorted(formers.get(id_, ()), key=lambda former: (-until(former), -moment(former), former.content))
        for former in latest[:_MAX_FORMERS]:
            found = read(former, most=2)
            if len(found) == 1:
                quotes.setdefault((found[0].text, until(former)), Quote(found[0], id_, until(former)))
    return sorted(quotes.values(), key=lambda quote: (-(quote.until or 0), quote.text))


def _written(lines: list[str], quotes: Iterable[Quote], bounds: _Bounds) -> ComposedAnswer:
    """Write the lines for which there is room."""
    quoted: list[Quote] = []
    room = bounds.characters - sum(map(len, lines))
    for quote in quotes:
        line = quote.line
        room -= len(line) + 1
        if room < 0 and quoted:
            break
        lines.append(line)
        quoted.append(quote)
    return ComposedAnswer("\n".join(lines), tuple(quoted))
