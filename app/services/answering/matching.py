"""Chooses the sentences that tell the events that a question asks for, by their words."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from app.language.dates.days import MentionedDays, mentioned_days
from app.language.dates.questions import TimeQuestion
from app.language.dates.two_events import two_events
from app.language.events import Entailment, Event, common, entailment, event, extra
from app.services.learning.reading import MemorySentence


@dataclass(frozen=True, slots=True)
class EventSentences:
    """The sentences that tell the event or the two events of a question, the best first."""

    sentences: Sequence[MemorySentence]
    others: Sequence[MemorySentence] = ()
    """The sentences that a reader finds to answer, though their words do not tell the event."""
    second: Sequence[MemorySentence] | None = None
    """The sentences of the second event, where each of two has its own; ``sentences`` are then of the first event."""

    @property
    def all(self) -> Sequence[MemorySentence]:
        """The sentences of the first and the second event, each once."""
        return list(dict.fromkeys([*self.sentences, *(self.second or ())]))


@dataclass(frozen=True, slots=True)
class EventMatcher:
    """Sentences of memories, the best first, among which the sentences of an event are searched for.

    A sentence that is ``sure`` to answer, as a reader finds, may tell the event in other words, where words decide
    nothing: in another language, or where the question or the sentence has none. ``formers`` has by a memory's id the
    ids of the memories that held before it. An event that has happened may be told by a former memory too, unless the
    memory that came in its place tells the same event.
    """

    sentences: Sequence[MemorySentence]
    sure: Collection[MemorySentence]
    formers: Mapping[str, Collection[str]]

    def of_question(self, question: str, time_question: TimeQuestion) -> EventSentences:
        """Return the sentences that tell the events of a question."""
        if time_question.form != "between":
            return self._of_one(event(question), time_question)
        parts = two_events(question)
        return self._of_two(parts) if parts else EventSentences(self._among(self.sure))

    def _of_one(self, expected: Event, time_question: TimeQuestion) -> EventSentences:
        by_entailment = defaultdict[Entailment, list[MemorySentence]](list)
        for sentence in self.sentences:
            by_entailment[_entailment(expected, sentence, lasts=time_question.lasts)].append(sentence)
        is_over = time_question.happened and not time_question.lasts
        entailing = (self._newest if is_over else self._holding)(by_entailment["entails"])
        unknown = self._holding(self._among(self.sure, by_entailment["unknown"]))
        if time_question.of_one:
            best = _closest(expected, entailing) if time_question.happened else entailing[:1]
            return EventSentences(best or unknown[:1])
        others = self._holding(self._among(self.sure, by_entailment["differs"]))
        return EventSentences(self._among({*entailing, *unknown}), others)

    def _of_two(self, parts: tuple[str, str]) -> EventSentences:
        """Return the sentences of each of two events; if one has none and is no date, those that may tell either."""
        events = (event(parts[0]), event(parts[1]))
        found = [self._of_either(*pair) for pair in (events, events[::-1])]
        if all(sentences or _is_date(part) for sentences, part in zip(found, parts, strict=True)):
            first, second = sorted(found, key=lambda own: self.sentences.index(own[0]) if own else -1)
            return EventSentences(first, second=second)
        sure = self._among(self.sure)
        return EventSentences(
            [one for one in sure if not any(_entailment(expected, one) == "differs" for expected in events)]
        )

    def _of_either(self, expected: Event, other: Event) -> list[MemorySentence]:
        """Return the sentences that tell one of two events; a pronoun such as "it" refers to the other event."""
        entailing = [one for one in self.sentences if expected.words and _entailment(expected, one) == "entails"]
        if expected.refers:
            shared = {sentence: common(other, sentence.text) for sentence in entailing}
            most = max(shared.values(), default=0)
            entailing = [sentence for sentence in entailing if most and shared[sentence] == most]
        return _closest(expected, self._newest(entailing))

    def _among(
        self, chosen: Collection[MemorySentence], of: Sequence[MemorySentence] | None = None
    ) -> list[MemorySentence]:
        """Return the chosen ones of all sentences, or of the sentences ``of``, in their order."""
        return [sentence for sentence in (self.sentences if of is None else of) if sentence in chosen]

    def _holding(self, sentences: Sequence[MemorySentence]) -> list[MemorySentence]:
        """Return the sentences whose memory still holds: no other memory came in its place."""
        return self._without(sentences, self.formers.values())

    def _newest(self, sentences: Sequence[MemorySentence]) -> list[MemorySentence]:
        """Return the sentences without those of memories that held before the memory of another of these sentences."""
        return self._without(sentences, (self.formers.get(sentence.memory_id, ()) for sentence in sentences))

    @staticmethod
    def _without(sentences: Sequence[MemorySentence], outdated: Iterable[Collection[str]]) -> list[MemorySentence]:
        ids = set(chain.from_iterable(outdated))
        return [sentence for sentence in sentences if sentence.memory_id not in ids]


def _entailment(expected: Event, sentence: MemorySentence, *, lasts: bool = False) -> Entailment:
    before = sentence.context.removesuffix(sentence.text)
    return entailment(expected, sentence.text, f"{sentence.speaker} {before}".strip(), lasts=lasts)


def _closest(expected: Event, sentences: list[MemorySentence]) -> list[MemorySentence]:
    """Return the sentences without words beside the event's, or all where each has some; they may tell several days."""
    beside = {sentence: extra(expected, sentence.text) for sentence in sentences}
    return sentences if all(beside.values()) else [sentence for sentence in sentences if not beside[sentence]]


def _is_date(part: str) -> bool:
    """Tell whether a part of a question is a time and nothing else."""
    return not event(part).words and mentioned_days(part, 1) != MentionedDays()
