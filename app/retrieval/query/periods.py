"""What a query says of time: the periods it names, and the events it places things before or after.

Dates are read by dateutil. Days begin at midnight UTC and weeks on Monday; where a numeric date could be read both
ways its day comes first (5/6/2023 is the 5th of June); seasons are those of the north.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.retrieval.query.time_readings import Days, floats, read
from app.retrieval.query.time_spans import Span, clipped, spans

_DAY = 86_400_000
_FADE_MS = 7 * _DAY
_EPOCH = 719_163
_NEVER = 3_652_060
EARLIEST = (1 - _EPOCH) * _DAY
"""The start of a period open to the past: 1 January of the year 1, ms since the epoch."""
LATEST = (_NEVER - _EPOCH) * _DAY - 1
"""The end of a period open to the future: the last millisecond of the year 9999, ms since the epoch."""
MAX_PERIODS = 4
MAX_ANCHORS = 4

_MAX_RELATIONS = 40
_MAX_PHRASE = 120
_MAX_WORDS = 8
_RELATION = re.compile(
    r"(?<!look )(?<!looks )(?<!looked )(?<!looking )(?<!named )(?<!take )(?<!takes )(?<!taking )(?<!go )(?<!going )"
    r"(?<!\w)(before|after|since|until|till|following|prior to)\s{1,2}(?=\w)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[^\w\s'\u2019-]|\s-")
_ARTICLES = "the a an my our your his her its their this that these those"
_AUXILIARIES = "is are am has have do does can will should must may might"
_IRREGULAR = (
    "became began bought broke came fell found gave got had left lost made met quit ran sold spoke took was went were "
    "woke won"
)
_DETERMINERS = frozenset(_ARTICLES.split())
_SUBJECTS = frozenset({"i", "we", "he", "she", "they"})
_PRESENT = frozenset(_AUXILIARIES.split())
_STOPS = frozenset(
    f"{_AUXILIARIES} did was were be been had would could but and or so what when where which who whom how why "
    "before after since until till i we you he she they".split()
)
_LOOSE = frozenset(f"{_ARTICLES} in on at of for to with from".split())
_NO_EVENT = frozenset(
    f"{_AUXILIARIES} all then now last next long it them him me us you noon midnight hours recently".split()
)
_PAST = frozenset(_IRREGULAR.split())


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, half-open [``start``, ``end``), ms since the epoch UTC, and the words it was read from."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """An event without a date and the side of it that is meant; "since" is ``after``, "until" is ``before``."""

    direction: Literal["before", "after"]
    phrase: str


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


def lift(periods: Sequence[Period], moment: int) -> float:
    """Return 1 where a moment lies in one of the periods, and the less the further away it is: a week off, 0.37."""
    gaps = [max(period.start - moment, moment - period.end + 1, 0) for period in periods]
    return max((math.exp(-gap / _FADE_MS) for gap in gaps), default=0.0)


def anchors(query: str) -> tuple[Anchor, ...]:
    """Return the events the query looks before or after, at most ``MAX_ANCHORS``, in their order.

    What has a date is none: it is among the ``periods``. The phrase is the event's words, without "the" or "my".
    """
    query = clipped(query)
    if _RELATION.search(query) is None:
        return ()
    dated = list(spans(query))
    found: list[Anchor] = []
    for _, relation in zip(range(_MAX_RELATIONS), _RELATION.finditer(query), strict=False):
        at = relation.end()
        if len(found) == MAX_ANCHORS or any(span.begins < at < span.ends for span in dated):
            continue
        until = min((span.begins for span in dated if span.begins >= at), default=len(query))
        phrase = _event(query[at : min(until, at + _MAX_PHRASE)], since=relation[1].lower() == "since")
        if phrase:
            direction: Literal["before", "after"] = (
                "after" if relation[1].lower() in {"after", "since", "following"} else "before"
            )
            found.append(Anchor(direction, phrase))
    return tuple(found)


def _event(text: str, *, since: bool) -> str:
    """Return the words at the beginning of a text that name an event, or nothing."""
    said = _CLAUSE.split(text, maxsplit=1)[0].split()[:_MAX_WORDS]
    while said and said[0].lower() in _DETERMINERS:
        said = said[1:]
    lowered = [word.lower() for word in said]
    if not said or said[0][0].isdigit() or lowered[0] in _NO_EVENT:
        return ""
    clause = lowered[0] in _SUBJECTS
    if clause and (len(said) == 1 or (since and not _is_past(lowered[1]))):
        return ""
    stop = next((at for at, word in enumerate(lowered) if at > clause and word in _STOPS), len(said))
    if since and stop < len(said) and lowered[stop] in _PRESENT:  # "since the bakery is closed" gives a reason
        return ""
    while stop and lowered[stop - 1] in _LOOSE:
        stop -= 1
    return " ".join(said[:stop])


def _is_past(verb: str) -> bool:
    return verb.endswith("ed") or verb in _PAST
