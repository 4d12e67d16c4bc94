"""Computes lengths of time, days and counts of what sentences tell; nothing where their days are not clear.

Which sentences speak of what a question asks for is found by a reader. Here it is only counted.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from app.language.dates.asked import TimeAsked
from app.language.dates.days import MentionedDays, mentioned_days, names_no_year, ordinal, repeats, shown, tells_length
from app.language.dates.lengths import Unit, length, length_of
from app.language.dates.time_readings import Days
from app.language.dates.time_spans import spans
from app.language.modality import is_plan, may_not_be
from app.services.answering.matching import Telling
from app.services.answering.reading import MAX_READ, ReadableMemory, Said

_UNSURE: Final = MentionedDays(is_sure=False)
_UNITS: Final[tuple[Unit | None, ...]] = ("day", "week", "month", None)


@dataclass(frozen=True, slots=True)
class Computed:
    """What code has computed of days."""

    text: str
    """It as a sentence."""
    sentences: Sequence[Said]
    """Those that tell its days."""
    ways: Sequence[str] = ()
    """Other ways in which it may be said."""

    @property
    def facts(self) -> Sequence[str]:
        """It as a model is told it: in all the ways in which it may be said."""
        return [self.text, *self.ways]


@dataclass(frozen=True, slots=True)
class _Dated:
    """A sentence and the days that it mentions."""

    said: Said
    mentioned: MentionedDays

    @property
    def days(self) -> Days | None:
        """The one stretch that it mentions, where that is sure."""
        return self.mentioned.only

    @property
    def told_on(self) -> int:
        """The day of which it speaks, an ordinal."""
        return ordinal(self.said.happened_at)


def undated(sentences: Sequence[Said]) -> Sequence[Said]:
    """Return those that may speak of the day of their memory: the store named it, and the memory names no time.

    The day of what was said in a session is when it was said; when it happened nothing tells.
    """
    memories = {said.memory_id: said.memory for said in sentences if not said.asks}
    of_a_day = {id_ for id_, memory in memories.items() if _has_its_day(memory)}
    return [said for said in sentences if not said.asks and said.memory_id in of_a_day]


def _has_its_day(memory: ReadableMemory) -> bool:
    if memory.session_id is not None or memory.occurred_at is None:
        return False
    content = memory.content[:MAX_READ]
    return next(spans(content), None) is None and not tells_length(content)


def computed(asked: TimeAsked, question: str, told: Telling, happened: Collection[Said], now: int) -> Computed | None:
    """Return what a question asks for of time; ``now`` (ms since the epoch) is when it asks.

    ``told`` are the sentences that tell of it. What has ``happened`` did so on its memory's day. A day is told where
    all sentences tell the same one, the last day and a count of all, and a length between two days where each event
    has its own, or the question and all sentences tell these two and no other time.
    """
    today = ordinal(now)

    def dated_of(sentences: Sequence[Said]) -> Sequence[_Dated]:
        return [_Dated(said, _mentioned(said, happened, asked)) for said in sentences]

    named = mentioned_days(question, today)
    if not named.is_sure:
        return None
    dated = dated_of(told.sentences)
    match asked.form:
        case "times":
            return _times(dated, named.days, today)
        case "between":
            ends = dated if told.second is None else _ends(dated, dated_of(told.second))
            return _between(asked.unit, named.days, ends)
    if asked.latest:
        found = _latest(dated, dated_of(told.others), named.days, today)
    else:
        found = _only([each for each in dated if each.days and _within(each.days, named.days)])
    return _on_a_day(asked, *found, today) if found else None


def _only(dated: Sequence[_Dated]) -> tuple[Days, Said] | None:
    """Return the day that sentences tell, and the first that does; None where two of them tell different ones."""
    sure = [(each.days, each.said) for each in dated if each.days is not None]
    return sure[0] if len({days for days, _ in sure}) == 1 else None


def _ends(first: Sequence[_Dated], second: Sequence[_Dated]) -> Sequence[_Dated]:
    """Return the sentence of each of two events, where both have a sure day; a named day has no sentence."""
    ends = [_only(each) for each in (first, second) if each]
    found = [_Dated(end[1], MentionedDays(frozenset((end[0],)))) for end in ends if end is not None]
    return found if len(found) == len(ends) else []


def _mentioned(said: Said, happened: Collection[Said], asked: TimeAsked) -> MentionedDays:
    """Return the days of a sentence; those of what did not happen, or may not have, are not sure."""
    if may_not_be(said.text) or (asked.happened and is_plan(said.text)):
        return _UNSURE
    day, begun = ordinal(said.happened_at), asked.form in {"past", "day"}
    mentioned = mentioned_days(said.text, day, begun=begun, lasts=asked.lasts)
    is_one_of_many = asked.form == "times" or asked.latest
    if asked.happened and not is_one_of_many and any(days[0] > day for days in mentioned.days):
        return _UNSURE  # it was told before its day
    return (
        MentionedDays(frozenset(((day, day + 1),))) if mentioned == MentionedDays() and said in happened else mentioned
    )


def _within(days: Days, named: Iterable[Days]) -> bool:
    """Tell whether days lie within each stretch that is named."""
    return all(each[0] <= days[0] and days[1] <= each[1] for each in named)


def _over(dated: Iterable[_Dated], named: Collection[Days], today: int) -> list[tuple[Days, Said]]:
    """Return the days of what was until today, within what is named, in their order; of sentences that tell one.

    What is told before its day was a plan, of which nobody knows whether it came to be.
    """
    over = [
        (each.days, each.said)
        for each in dated
        if each.days and each.days[0] <= each.told_on and each.days[1] <= today + 1 and _within(each.days, named)
    ]
    return sorted(over, key=lambda one: (one[0][1], one[0][0]))


def _latest(
    dated: Sequence[_Dated], others: Sequence[_Dated], named: Collection[Days], today: int
) -> tuple[Days, Said] | None:
    """Return the last of what was until today; None where another, or one of the others, may be later."""
    over = _over(dated, named, today)
    if not over:
        return None
    days, said = over[-1]
    told = {each for _, each in over}
    for each in (*dated, *others):
        # A sentence without a clear day may tell any day until it was told; a plan may have come to be.
        may_be = each.days or (1, each.told_on + 1)
        is_sure = each.said in told and (may_be == days or may_be[1] <= days[0])
        if not is_sure and may_be[0] <= today and may_be[1] > days[0] and _meets(may_be, named):
            return None
    return days, said


def _meets(days: Days, named: Iterable[Days]) -> bool:
    """Tell whether days have one in common with each stretch that is named."""
    return all(each[0] < days[1] and days[0] < each[1] for each in named)


def _on_a_day(asked: TimeAsked, days: Days, said: Said, today: int) -> Computed | None:
    """Return a day, or how long it is from it or until it."""
    now = (today, today + 1)
    is_over, is_to_come = days[1] <= now[1], days[0] >= today
    fits = {"past": is_over, "future": is_to_come, "day": is_to_come or not asked.ahead}
    if not fits[asked.form]:
        return None
    if asked.form == "future":
        return Computed(_length(now, days, asked.unit), [said])
    if names_no_year(said.text):
        return None  # a birthday comes again, and was in a year that nobody named
    units = _UNITS if is_over and _is_a_day(days) else ()
    ways = list(dict.fromkeys(f"{length(days[0], today, unit)} ago." for unit in units))
    if asked.form == "past":
        return Computed(_length(days, now, asked.unit), [said], ways)
    return Computed(_sentence(f"last {_on(days)}" if asked.latest else _on(days)), [said], ways)


def _between(unit: Unit | None, named: Iterable[Days], dated: Iterable[_Dated]) -> Computed | None:
    """Return the length between two days, at least one of which a sentence tells."""
    ends: dict[Days, Said | None] = dict.fromkeys(named)
    for each in dated:
        for days in each.mentioned.days:
            ends[days] = ends.get(days) or each.said
    tell = [said for said in ends.values() if said is not None]
    is_sure = all(each.mentioned.is_sure for each in dated)
    if not (is_sure and tell and len(ends) == 2 and all(map(_is_a_day, ends))):  # noqa: PLR2004 - its two ends
        return None
    first, last = sorted(ends)
    return Computed(_length(first, last, unit), tell)


def _length(first: Days, last: Days, unit: Unit | None) -> str:
    to = " to " if all(map(_is_one_date, (first, last))) else ", until "
    return _sentence(f"{length_of(first, last, unit)} (from {shown(first)}{to}{shown(last)})")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _on(days: Days) -> str:
    """Return a stretch of days with its preposition."""
    if _is_a_day(days):
        return f"on {shown(days)}"
    return f"in {shown(days)}" if _is_one_date(days) else f"between {shown(days).replace(' to ', ' and ')}"


def _is_a_day(days: Days) -> bool:
    return days[1] - days[0] == 1


def _is_one_date(days: Days) -> bool:
    """Tell whether a stretch is written as one date: a day, a month or a year."""
    return " " not in shown(days)


def _times(dated: Iterable[_Dated], named: Collection[Days], today: int) -> Computed | None:
    """Return how many times something was at least until today, and on which days, where there are several.

    "Two weeks ago" and "last week" may be of one time, and what comes again and again is of none.
    """
    by_day: dict[Days, Said] = {}
    for days, said in _over(dated, named, today):
        if _is_a_day(days) and not repeats(said.text):
            by_day.setdefault(days, said)
    if len(by_day) <= 1:
        return None
    on = ", ".join(map(shown, by_day))
    return Computed(f"At least {len(by_day)} times (on {on}).", list(by_day.values()))
