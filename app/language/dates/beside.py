"""Writes the day that "last week" means beside it, counted from the moment at which it was said."""

import re
from collections.abc import Iterator
from datetime import date

from app.language.dates.days import sure_days
from app.language.dates.time_readings import Days
from app.language.dates.time_spans import spans

_DAY = 86_400_000
_EPOCH = 719_163
_MAX_NOTES = 3
_ENDING = re.compile(r"['\u2019]s?(?!\w)")
_QUOTES = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]')


def ordinal(moment: int) -> int:
    """Return the day of a moment (ms since the epoch), counted as ``date.toordinal`` does, within the calendar."""
    return min(max(moment // _DAY + _EPOCH, 1), date.max.toordinal())


def with_days(text: str, happened_at: int) -> str:
    """Return a sentence with the days in brackets behind each expression that is counted from ``happened_at`` (ms).

    Nothing is written where it is not sure what is meant: what somebody else said in quotation marks, "a few weeks
    ago", "the next week" in a tale, "next Friday", a season.
    """
    written, place = [], 0
    for end, days in _notes(text, happened_at):
        written.append(f"{text[place:end]} [{shown(days)}]")
        place = end
    return "".join(written) + text[place:]


def _notes(text: str, happened_at: int) -> Iterator[tuple[int, Days]]:
    today = ordinal(happened_at)
    notes = 0
    for span in spans(text):
        days = sure_days(span, text, today)
        if days is None or days == (today, today + 1) or _QUOTES.search(text[: span.starts]):
            continue
        ending = _ENDING.match(text, span.ends)
        yield (ending.end() if ending else span.ends), days
        notes += 1
        if notes == _MAX_NOTES:
            return


def shown(days: Days) -> str:
    """Return days as 2026-03-30, 2026-03, 2026, or the first and the last of them."""
    first, last = (date.fromordinal(day) for day in (days[0], days[1] - 1))
    after = date.fromordinal(days[1]) if days[1] <= date.max.toordinal() else None
    if first == last:
        return first.isoformat()
    if first.day == 1 and after is not None and after.day == 1:
        if first.month == 1 and after == date(first.year + 1, 1, 1):
            return f"{first.year:04}"
        if (after.year - first.year) * 12 + after.month - first.month == 1:
            return f"{first.year:04}-{first.month:02}"
    return f"{first.isoformat()} to {last.isoformat()}"
