"""Writes the days that "last week" means beside it, counted from the moment at which it was said."""

import re
from collections.abc import Iterable
from datetime import date, datetime

from app.domain.moments import moment
from app.language.dates.days import Resolved, resolved, resolved_by_sentence
from app.language.dates.time_readings import Days

_DAY = 86_400_000
_EPOCH = 719_163
_MAX_NOTES = 3
_ENDING = re.compile(r"['\u2019]s?(?!\w)")


def ordinal(moment_: int) -> int:
    """Return the day of a moment (ms since the epoch), counted as ``date.toordinal`` does, within the calendar."""
    return min(max(moment_ // _DAY + _EPOCH, 1), date.max.toordinal())


def with_days(text: str, happened_at: int) -> str:
    """Return a sentence with the days in brackets behind each expression that is counted from ``happened_at`` (ms).

    Nothing is written where it is not sure what is meant: what somebody else said in quotation marks, "a few weeks
    ago", "the next week" in a tale, "next Friday", a season.
    """
    today = datetime.fromordinal(ordinal(happened_at))
    relative = [each for each in resolved(text, today) if each.relative]
    return _written(text, _other_days(relative, today.date())[:_MAX_NOTES])


def with_all_days(text: str, said_at: int) -> str:
    """Return a text with the days in brackets behind each expression that needs the day on which it was said."""
    today = moment(said_at).date()
    found = (
        each for each in resolved_by_sentence(text, moment(said_at)) if str(each.start.year) not in each.expression
    )
    return _written(text, (each for each in found if not today == each.start == each.end))


def shown(days: Days) -> str:
    """Return days as 2026-03-30, 2026-03, 2026, or the first and the last of them."""
    first, last = (date.fromordinal(day) for day in (days[0], days[1] - 1))
    after = date.fromordinal(days[1]) if last < date.max else None
    if first == last:
        return first.isoformat()
    if first.day == 1 and after is not None and after.day == 1:
        if first.month == 1 and after == date(first.year + 1, 1, 1):
            return f"{first.year:04}"
        if (after.year - first.year) * 12 + after.month - first.month == 1:
            return f"{first.year:04}-{first.month:02}"
    return f"{first.isoformat()} to {last.isoformat()}"


def _other_days(found: Iterable[Resolved], today: date) -> list[Resolved]:
    return [each for each in found if not today == each.start == each.end]


def _written(text: str, found: Iterable[Resolved]) -> str:
    written, place = [], 0
    for each in found:
        end = each.place + len(each.expression)
        ending = _ENDING.match(text, end)
        end = ending.end() if ending else end
        written.append(f"{text[place:end]} [{shown((each.start.toordinal(), each.end.toordinal() + 1))}]")
        place = end
    return "".join(written) + text[place:]
