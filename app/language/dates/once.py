"""Tells which contents name days once, such as what is to be done by one of them, and the last of these days."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Final

from app.language.dates.counted import expressions
from app.language.dates.days import resolved
from app.language.dates.time_spans import Span, in_small_letters
from app.language.dates.time_words import LONG, REPEATED, WEEKDAYS
from app.language.sentences import sentences

_MAX_READ = 4000
_MAX_SENTENCES = 8
_DAYS: Final = frozenset(("iso", "numeric", "day", "days", "weekday", "fixed", "ago", "rolling"))
_WORD = re.compile(r"\w+")
_REPEATED = REPEATED | {f"{name}s" for name in WEEKDAYS if name.endswith("day")}


def dated_once(content: str) -> Sequence[str]:
    """Return the sentences of a content where each names a day or a week, and none of them repeats; none otherwise.

    What is due again and again holds for good, and so does what is due on no day.
    """
    if len(content) > _MAX_READ:
        return []
    parts = [each.text for each in sentences(content)]
    return parts if len(parts) <= _MAX_SENTENCES and all(map(_is_dated_once, parts)) else []


def last_day(content: str, reference: datetime) -> date | None:
    """Return the last day that a content surely names, counted from a moment; None where it names none."""
    return max((each.end for each in resolved(content, reference)), default=None)


def _is_dated_once(sentence: str) -> bool:
    words = _WORD.findall(in_small_letters(sentence))
    return _REPEATED.isdisjoint(words) and any(map(_is_day, expressions(sentence)))


def _is_day(span: Span) -> bool:
    if span.lead == "since":
        return False
    return span.sure or span.kind in _DAYS or (span.kind == "which" and span.text.split()[-1] not in LONG)
