"""The periods of time that a query names.

Dates are read by dateutil. Days begin at midnight UTC and weeks on Monday; where a numeric date could be read both
ways its day comes first (5/6/2023 is the 5th of June); seasons are those of the north.
"""

from dataclasses import dataclass

from app.retrieval.query.clipping import clipped
from app.retrieval.query.time_readings import Days, floats, read
from app.retrieval.query.time_spans import Span, spans

_DAY = 86_400_000
_EPOCH = 719_163
_NEVER = 3_652_060
EARLIEST = (1 - _EPOCH) * _DAY
"""The start of a period open to the past: 1 January of the year 1, ms since the epoch."""
LATEST = (_NEVER - _EPOCH) * _DAY - 1
"""The end of a period open to the future: the last millisecond of the year 9999, ms since the epoch."""
MAX_PERIODS = 4


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, half-open [``start``, ``end``), ms since the epoch UTC, and the words it was read from."""

    start: int
    end: int
    text: str


def periods(query: str, reference_time: int) -> tuple[Period, ...]:
    """Return the first periods the query names, at most ``MAX_PERIODS``, in their order.

    ``reference_time`` (ms since the epoch) is when "last week" and a month without a year are read. A date that does
    not exist names none, and a time outside the calendar's years 1 to 9999 can be the reference of none.
    """
    today = reference_time // _DAY + _EPOCH
    query = clipped(query)
    chain = list(spans(query))
    found: list[Period] = []
    while chain and len(found) < MAX_PERIODS:
        first, *chain = chain
        last = chain[0] if chain and chain[0].ends_range else first
        days = _between(first, last, today) if last is not first else None
        if days is not None:
            chain = chain[1:]
        else:
            last, days = first, _open(first, read(first.kind, first.text, first.shift, first.part, today))
        if days is not None and days[0] < _NEVER:  # the calendar's last week has no weekend
            start, end = ((day - _EPOCH) * _DAY for day in days)
            found.append(Period(start, min(end, LATEST), query[first.starts : last.ends]))
    return tuple(found)


def _between(first: Span, last: Span, today: int) -> Days | None:
    ends = read(last.kind, last.text, last.shift, last.part, today)
    if ends is None:
        return None
    # "March to May 2023": what has no year of its own is the latest before the end.
    seen_from = ends[0] if floats(first.kind, first.text) else today
    begins = read(first.kind, first.text, first.shift, first.part, seen_from)
    return (begins[0], ends[1]) if begins is not None and begins[0] < ends[1] else None


def _open(span: Span, days: Days | None) -> Days | None:
    if days is None:
        return None
    start, end = days
    match span.lead:
        case "before":
            start, end = 1, start
        case "until":
            start = 1
        case "since":
            end = _NEVER
        case "after":
            start, end = end, _NEVER
    return (start, end) if start < end else None
