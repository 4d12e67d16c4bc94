"""Computes lengths of time, days and counts from sentences; nothing where their days are not clear.

The sentences were chosen before: here their days are only counted.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from app.language.dates.days import MentionedDays, mentioned_days, names_no_year, ordinal, repeats, shown, tells_length
from app.language.dates.interval import Interval
from app.language.dates.lengths import Unit, length, length_of
from app.language.dates.questions import TimeQuestion
from app.language.dates.time_spans import spans
from app.language.modality import is_planned, may_not_have_happened
from app.services.answering.matching import EventSentences
from app.services.learning.reading import MAX_READ, MemorySentence, ReadableMemory

_UNSURE: Final = MentionedDays(is_sure=False)
_UNITS: Final[tuple[Unit | None, ...]] = ("day", "week", "month", None)


@dataclass(frozen=True, slots=True)
class ComputedAnswer:
    """An answer that code has computed of days."""

    text: str
    """The answer as a sentence."""
    sentences: Sequence[MemorySentence]
    """The sentences that tell its days."""
    phrasings: Sequence[str] = ()
    """Other ways in which the answer may be said."""

    @property
    def facts(self) -> Sequence[str]:
        """The answer for a model, in all the ways in which it may be said."""
        return [self.text, *self.phrasings]


@dataclass(frozen=True, slots=True)
class _Dated:
    """A sentence and the days that it mentions."""

    sentence: MemorySentence
    mentioned: MentionedDays

    @property
    def days(self) -> Interval | None:
        """The one stretch of days that the sentence mentions, where that is sure."""
        return self.mentioned.only

    @property
    def spoken_on(self) -> int:
        """The day of the sentence's moment, an ordinal."""
        return ordinal(self.sentence.happened_at)


_End = tuple[Interval, MemorySentence]
"""Days, and a sentence that tells them."""


def undated(sentences: Sequence[MemorySentence]) -> Sequence[MemorySentence]:
    """Return the sentences that may speak of the day of their memory: the store named it, and the memory names no time.

    The day of a memory of a session is the day on which it was said; nothing tells when its event happened.
    """
    memories = {sentence.memory_id: sentence.memory for sentence in sentences if not sentence.asks}
    of_a_day = {id_ for id_, memory in memories.items() if _has_its_day(memory)}
    return [sentence for sentence in sentences if not sentence.asks and sentence.memory_id in of_a_day]


def _has_its_day(memory: ReadableMemory) -> bool:
    if memory.session_id is not None or memory.occurred_at is None:
        return False
    content = memory.content[:MAX_READ]
    return next(spans(content), None) is None and not tells_length(content)


def compute(
    time_question: TimeQuestion, question: str, matched: EventSentences, happened: Collection[MemorySentence], now: int
) -> ComputedAnswer | None:
    """Return the time that a question asks for; ``now`` (ms since the epoch) is when it asks.

    ``matched`` are the sentences that tell of its events. The events of the sentences in ``happened`` happened on their
    memory's day. A day is computed where all sentences tell the same day; the last day and a count are computed of all
    days; a length between two days is computed where each event has its own day, or where the question and all
    sentences tell these two days and no other time.
    """
    today = ordinal(now)
    named = mentioned_days(question, today)
    if not named.is_sure:
        return None

    def dated_of(sentences: Sequence[MemorySentence]) -> Sequence[_Dated]:
        return [_Dated(sentence, _mentioned(sentence, happened, time_question)) for sentence in sentences]

    dated = dated_of(matched.sentences)
    match time_question.form:
        case "times":
            return _times(_over(dated, named.days, today))
        case "between":
            ends = dated if matched.second is None else _ends(dated, dated_of(matched.second))
            return _between(time_question.unit, named.days, ends)
    if time_question.latest:
        found = _latest(dated, dated_of(matched.others), named.days, today)
    else:
        found = _only([mention for mention in dated if mention.days and _is_within(mention.days, named.days)])
    return _on_a_day(time_question, *found, today) if found else None


def _only(dated: Sequence[_Dated]) -> _End | None:
    """Return the day that sentences tell, and the first of them; None where none tells a day, or two tell two days."""
    sure = [(mention.days, mention.sentence) for mention in dated if mention.days is not None]
    return sure[0] if len({days for days, _ in sure}) == 1 else None


def _ends(first: Sequence[_Dated], second: Sequence[_Dated]) -> Sequence[_Dated]:
    """Return the day and sentence of each of two events, where both have a sure day; a named day has no sentence."""
    ends = [_only(dated) for dated in (first, second) if dated]
    found = [_Dated(sentence, MentionedDays(frozenset((days,)))) for days, sentence in filter(None, ends)]
    return found if len(found) == len(ends) else []


def _mentioned(
    sentence: MemorySentence, happened: Collection[MemorySentence], time_question: TimeQuestion
) -> MentionedDays:
    """Return the days of a sentence; the days of an event that did not happen, or may not have, are not sure."""
    if may_not_have_happened(sentence.text) or (time_question.happened and is_planned(sentence.text)):
        return _UNSURE
    day = ordinal(sentence.happened_at)
    mentioned = mentioned_days(
        sentence.text, day, begun=time_question.form in {"past", "day"}, lasts=time_question.lasts
    )
    is_one_of_many = time_question.form == "times" or time_question.latest
    if time_question.happened and not is_one_of_many and any(days.first > day for days in mentioned.days):
        return _UNSURE  # the event was told before its day
    if mentioned == MentionedDays() and sentence in happened:
        return MentionedDays(frozenset((Interval.of_day(day),)))
    return mentioned


def _is_within(days: Interval, named: Iterable[Interval]) -> bool:
    """Tell whether days lie within each of the named stretches."""
    return all(stretch.includes(days) for stretch in named)


def _over(dated: Iterable[_Dated], named: Collection[Interval], today: int) -> list[_End]:
    """Return the days until today that lie within the named stretches, in their order, each with its sentence.

    A sentence without one sure day is left out, and so is one said before its day: that was a plan, and nothing tells
    whether the plan came to be.
    """
    sure = [
        (mention.days, mention.sentence)
        for mention in dated
        if mention.days and mention.days.first <= mention.spoken_on
    ]
    over = [end for end in sure if end[0].after <= today + 1 and _is_within(end[0], named)]
    return sorted(over, key=lambda end: (end[0].after, end[0].first))


def _latest(dated: Sequence[_Dated], others: Sequence[_Dated], named: Collection[Interval], today: int) -> _End | None:
    """Return the last day until today; None where another sentence, or one of the ``others``, may tell a later day."""
    over = _over(dated, named, today)
    if not over:
        return None
    latest = over[-1][0]
    sure = {sentence for days, sentence in over if days == latest or days.after <= latest.first}
    for mention in (*dated, *others):
        # A sentence without a clear day may tell any day until it was told; a plan may have come to be.
        days = mention.days or Interval(1, mention.spoken_on + 1)
        may_be_later = days.first <= today and days.after > latest.first
        if mention.sentence not in sure and may_be_later and all(map(days.overlaps, named)):
            return None
    return over[-1]


def _on_a_day(
    time_question: TimeQuestion, days: Interval, sentence: MemorySentence, today: int
) -> ComputedAnswer | None:
    """Return a day as an answer, or the length of time since that day or until it."""
    now = Interval.of_day(today)
    is_over, is_to_come = days.after <= now.after, days.first >= today
    is_told = {"past": is_over, "future": is_to_come, "day": is_to_come or not time_question.ahead}
    if not is_told[time_question.form]:
        return None
    if time_question.form == "future":
        return ComputedAnswer(_length(now, days, time_question.unit), [sentence])
    if names_no_year(sentence.text):
        return None  # a birthday comes again, and the text does not name its first year
    units = _UNITS if is_over and days.is_day else ()
    phrasings = list(dict.fromkeys(f"{length(days.first, today, unit)} ago." for unit in units))
    if time_question.form == "past":
        return ComputedAnswer(_length(days, now, time_question.unit), [sentence], phrasings)
    return ComputedAnswer(
        _capitalised(f"last {_on(days)}" if time_question.latest else _on(days)), [sentence], phrasings
    )


def _between(unit: Unit | None, named: Iterable[Interval], dated: Sequence[_Dated]) -> ComputedAnswer | None:
    """Return the length between two days, at least one of which a sentence tells."""
    ends: dict[Interval, MemorySentence | None] = dict.fromkeys(named)
    for mention in dated:
        for days in mention.mentioned.days:
            ends[days] = ends.get(days) or mention.sentence
    sentences = [sentence for sentence in ends.values() if sentence is not None]
    is_sure = all(mention.mentioned.is_sure for mention in dated)
    if not (is_sure and sentences and len(ends) == 2 and all(days.is_day for days in ends)):  # noqa: PLR2004
        return None
    first, last = sorted(ends)
    return ComputedAnswer(_length(first, last, unit), sentences)


def _length(first: Interval, last: Interval, unit: Unit | None) -> str:
    to = " to " if all(map(_is_one_date, (first, last))) else ", until "
    return _capitalised(f"{length_of(first, last, unit)} (from {shown(first)}{to}{shown(last)})")


def _capitalised(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _on(days: Interval) -> str:
    """Return a stretch of days with its preposition."""
    if days.is_day:
        return f"on {shown(days)}"
    return f"in {shown(days)}" if _is_one_date(days) else f"between {shown(days).replace(' to ', ' and ')}"


def _is_one_date(days: Interval) -> bool:
    """Tell whether a stretch is written as one date: a day, a month or a year."""
    return " " not in shown(days)


def _times(over: Iterable[_End]) -> ComputedAnswer | None:
    """Return how many times at least an event was until today, and on which days, where there are several.

    Stretches longer than a day do not count: "two weeks ago" and "last week" may mean one time. Sentences of an event
    that repeats do not count either.
    """
    by_day: dict[Interval, MemorySentence] = {}
    for days, sentence in over:
        if days.is_day and not repeats(sentence.text):
            by_day.setdefault(days, sentence)
    if len(by_day) <= 1:
        return None
    on = ", ".join(map(shown, by_day))
    return ComputedAnswer(f"At least {len(by_day)} times (on {on}).", list(by_day.values()))
