"""The days that the messages of a conversation name, computed by code: a model only copies them."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

from app.services.answer.dating import with_days
from app.statements.dates.days import sure_days
from app.statements.dates.time_readings import Days, read
from app.statements.dates.time_spans import spans

_DAY_MS = 86_400_000
_EPOCH = 719_163
_SENTENCE_ENDS = re.compile(r"(?<=[.!?。]\s)")


def day(said_at: int) -> str:
    """Return the day of a moment in UTC, with its name: ``2026-05-04 Monday``."""
    return datetime.fromtimestamp(said_at / 1000, UTC).strftime("%Y-%m-%d %A")


def with_days_beside(text: str, said_at: int) -> str:
    """Return a text with the days in brackets behind each expression that is counted from the day it was said."""
    return "".join(with_days(sentence, said_at) for sentence in _SENTENCE_ENDS.split(text))


def named_days(text: str, said_at: int) -> frozenset[date]:
    """Return the single days that a text names, in a date or in an expression such as "yesterday"."""
    today = said_at // _DAY_MS + _EPOCH
    return frozenset(date.fromordinal(first) for first, after in _named(text, today) if after == first + 1)


def _named(text: str, today: int) -> Iterator[Days]:
    for sentence in _SENTENCE_ENDS.split(text):
        for span in spans(sentence):
            days = sure_days(span, sentence, today)
            if days is None and not span.part:
                days = read(span.kind, span.text, span.shift, span.part, today)
            if days is not None:
                yield days


def beginning(of: date) -> int:
    """Return when a day begins in UTC, in milliseconds since the epoch."""
    return (of.toordinal() - _EPOCH) * _DAY_MS
