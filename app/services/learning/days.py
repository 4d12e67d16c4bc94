"""The days that the messages of a conversation name, computed by code: a model only copies them."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

from app.language.dates.beside import shown
from app.language.dates.days import Resolved, resolved

_DAY_MS = 86_400_000
_EPOCH = 719_163
_SENTENCE_ENDS = re.compile(r"(?<=[.!?\u3002]\s)")
_ENDING = re.compile(r"['\u2019]s?(?!\w)")


def day(said_at: int) -> str:
    """Return the day of a moment in UTC, with its name: ``2026-05-04 Monday``."""
    return _moment(said_at).strftime("%Y-%m-%d %A")


def with_days_beside(text: str, said_at: int) -> str:
    """Return a text with the days in brackets behind each expression that needs the day on which it was said."""
    today = _moment(said_at).date()
    written, place = [], 0
    for begin, found in _resolved(text, said_at):
        if str(found.start.year) in found.expression or found.start == found.end == today:
            continue
        ending = _ENDING.match(text, begin + len(found.expression))
        end = ending.end() if ending else begin + len(found.expression)
        written.append(f"{text[place:end]} [{shown((found.start.toordinal(), found.end.toordinal() + 1))}]")
        place = end
    return "".join(written) + text[place:]


def named_days(text: str, said_at: int) -> frozenset[date]:
    """Return the single days that a text names, in a date or in an expression such as "yesterday"."""
    return frozenset(found.start for _, found in _resolved(text, said_at) if found.start == found.end)


def beginning(of: date) -> int:
    """Return when a day begins in UTC, in milliseconds since the epoch."""
    return (of.toordinal() - _EPOCH) * _DAY_MS


def _resolved(text: str, said_at: int) -> Iterator[tuple[int, Resolved]]:
    """Yield the expressions of time in each sentence of a text whose days are sure, with their places in the text."""
    begin, reference = 0, _moment(said_at)
    for sentence in _SENTENCE_ENDS.split(text):
        yield from ((begin + found.place, found) for found in resolved(sentence, reference))
        begin += len(sentence)


def _moment(said_at: int) -> datetime:
    return datetime.fromtimestamp(said_at / 1000, UTC)
