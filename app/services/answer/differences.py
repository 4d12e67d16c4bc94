"""Computes how long it is between two things that memories date, and which day is so long before or after one.

Nothing is guessed: where a question does not say clearly between what, or no memory, or more than one day, fits one of
the ends, there is no difference.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from dateutil.relativedelta import relativedelta

from app.language.tokens import Tokens
from app.services.answer import event_days
from app.services.answer.asking import Question
from app.services.answer.reading import Said
from app.services.answer.spoken_lengths import UNITS, DayAsked, LengthAsked, Unit, asked
from app.services.answer.wording import Wording

_LONG = 60
"""From so many days on, the months and years are told beside them."""
_WEEK = 7


@dataclass(frozen=True, slots=True)
class Difference:
    """What was computed, as a sentence, and the sentences that tell the days."""

    text: str
    ends: Sequence[Said]
    ago: tuple[int, int] | None = None
    """The days (ordinals) between which it is, where the later one is the day of the question."""


def difference(question: Question, sentences: Sequence[Said], reference_time: int) -> Difference | None:
    """Return what a question asks to be computed; None where it asks for nothing of the kind or an end is not clear."""
    wanted = asked(question.tokens, question.wording)
    today = event_days.ordinal(reference_time)
    if isinstance(wanted, LengthAsked):
        return _length(wanted, sentences, today, question.wording)
    return _day(wanted, sentences, today, question.wording) if wanted else None


def _length(wanted: LengthAsked, sentences: Sequence[Said], today: int, wording: Wording) -> Difference | None:
    ends = [_end(words, sentences, today, wording) for words in (wanted.first, wanted.last)]
    first, last = ends
    if first is None or last is None or first[1] == last[1]:  # one sentence for both, or none for either
        return None
    if wanted.ordered and first[0] > last[0]:
        return None
    days = sorted((first[0], last[0]))
    told = told_length(days[0], days[1], wanted.unit, wording)
    text = wording.frame["difference"].format(length=told, first=_iso(days[0]), last=_iso(days[1]))
    ago = (days[0], days[1]) if days[1] == today and None in (wanted.first, wanted.last) else None
    return Difference(text, _sentences(ends), ago)


def _day(wanted: DayAsked, sentences: Sequence[Said], today: int, wording: Wording) -> Difference | None:
    end = _end(wanted.of, sentences, today, wording)
    if end is None or end[1] is None:
        return None
    try:
        found = date.fromordinal(end[0]) + _STEP[wanted.unit] * wanted.count
    except (ValueError, OverflowError):  # past the calendar
        return None
    frame = wording.frame["after" if wanted.count > 0 else "earlier"]
    length = _counted(abs(wanted.count), wanted.unit, wording)
    return Difference(frame.format(day=found.isoformat(), length=length, **{"from": _iso(end[0])}), _sentences([end]))


_STEP = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "year": relativedelta(years=1),
}
_End = tuple[int, Said | None]


def _end(words: Tokens | None, sentences: Iterable[Said], today: int, wording: Wording) -> _End | None:
    """Return the day of one end and the sentence that tells it, if one does."""
    if words is None:
        return today, None
    named = event_days.day_named(words, today, wording)
    return (named, None) if named is not None else event_days.day_of(words, sentences, wording)


def _sentences(ends: Iterable[_End | None]) -> list[Said]:
    return [end[1] for end in ends if end and end[1]]


def _iso(day: int) -> str:
    return date.fromordinal(day).isoformat()


def told_length(first: int, last: int, unit: Unit | None, wording: Wording) -> str:
    """Return how long it is from one day to another, in a unit, or as it is usual for so many days."""
    days = last - first
    match unit:
        case "day":
            return _counted(days, "day", wording)
        case "week":
            return _joined({"week": days // _WEEK, "day": days % _WEEK}, wording) or _counted(0, "week", wording)
    between = relativedelta(date.fromordinal(last), date.fromordinal(first))
    if unit == "month":
        parts: dict[Unit, int] = {"month": 12 * between.years + between.months, "day": between.days}
    else:
        parts = {"year": between.years, "month": between.months, "day": between.days}
    told = _joined(parts, wording)
    if unit is None and days < _LONG:
        return _counted(days, "day", wording)
    return told or _counted(0, unit or "day", wording) if unit else wording.frame["days"].format(n=days, length=told)


def _joined(parts: dict[Unit, int], wording: Wording) -> str:
    """Return "2 months and 9 days", without the parts of which there is none."""
    told = [_counted(parts[unit], unit, wording) for unit in reversed(UNITS) if parts.get(unit)]
    return f" {wording.frame['and']} ".join(filter(None, (", ".join(told[:-1]), *told[-1:])))


def _counted(count: int, unit: Unit, wording: Wording) -> str:
    one, many = wording.frame[unit].split(", ")
    return f"{count} {one if count == 1 else many}"
