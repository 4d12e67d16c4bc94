"""Tells which contents are tasks that are over at some time, and so need not be kept for good."""

from datetime import date, datetime
from typing import Final

from app.domain.claim import CIRCUMSTANCES
from app.statements.dates import counted
from app.statements.dates.days import lowered, resolved
from app.statements.dates.time_spans import Span, spans
from app.statements.dates.time_words import LONG
from app.statements.kinds import begins_task
from app.statements.loaded import pack_of
from app.statements.rules import statements
from app.statements.tokens import tokens

_MAX_READ = 4000
_DAYS: Final = frozenset(("iso", "numeric", "day", "days", "weekday", "fixed", "ago", "rolling"))


def is_passing(content: str) -> bool:
    """Tell whether a content states nothing but tasks that pass: orders ("Book a table"), and duties with a day.

    A duty without a day may hold for good: "visitors must sign in". So does what states the value of a key, unless that
    is the day on which something is due.
    """
    read = statements(content[: _MAX_READ + 1])
    return (
        0 < len(content) <= _MAX_READ
        and bool(read)
        and all(
            one.type == "task"
            and (one.key is None or one.key.partition(CIRCUMSTANCES)[0].endswith("/day"))
            and _passes(one.text)
            for one in read
        )
    )


def last_day(content: str, reference: datetime) -> date | None:
    """Return the last day that a content surely names, counted from a moment; None where it names none."""
    return max((each.end for each in resolved(content, reference)), default=None)


def _passes(sentence: str) -> bool:
    words = tokens(sentence)
    return begins_task(words, pack_of(words)) or _has_day(sentence)


def _has_day(sentence: str) -> bool:
    """Tell whether a sentence names a day or a week."""
    return any(map(_is_day, spans(sentence))) or any(counted.counted(lowered(sentence)))


def _is_day(span: Span) -> bool:
    return span.lead != "since" and (span.kind in _DAYS or (span.kind == "which" and span.text.split()[-1] not in LONG))
