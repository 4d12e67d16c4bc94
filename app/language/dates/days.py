"""Tells which days the expressions of time in a text mean, counted from a day, and writes the days beside them.

Where the days are not sure, nothing is told or written.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import zip_longest
from typing import Final

from app.domain.moments import moment
from app.language.dates.doubts import is_doubtful, is_since
from app.language.dates.interval import Interval
from app.language.dates.time_spans import Span, expressions, in_small_letters
from app.language.dates.time_words import LONG, NUMBERS, REPEATED, UNITS, WEEKDAYS, WHICH
from app.language.numbers import Quantity, quantities
from app.language.sentences import sentences

MAX_TEXT = 32 * 1024
"""Characters of a text that are read, at most."""
_VAGUE = frozenset(name for name, (least, most) in NUMBERS.items() if least != most)
_TOLD = re.compile(r"(?:^|\W)(?:the|der|die|das|dem|den)\s{1,2}$", re.IGNORECASE)
_QUOTES = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]')
_SENTENCE_ENDS = re.compile(r"(?<=[.!?\u3002]\s)")
_NEAR = 100
"""Days between a date without its year and the day of the text, at most; the date's year is the one that fits."""
_APART = len(" and ")
"""Characters between two dates of one list, at most."""
_MAX_MONTH = 12
_MAX_READ = 4000
_MAX_SENTENCES = 8
_DAYS: Final = frozenset(("iso", "numeric", "day", "days", "weekday", "fixed", "ago", "rolling"))
_WORD = re.compile(r"\w+")
_REPEATED = REPEATED | {f"{name}s" for name in WEEKDAYS if name.endswith("day")}
_DAY = 86_400_000
_SECONDS_OF_DAY = 86_400
_EPOCH = 719_163
_MAX_NOTES = 3
_ENDING = re.compile(r"['\u2019]s?(?!\w)")


@dataclass(frozen=True, slots=True)
class Resolved:
    """An expression of time that begins at ``place`` in a text, and the first and the last day that it means."""

    expression: str
    start: date
    end: date
    place: int
    relative: bool
    """Whether the expression is counted from a day and found by ``spans``, not by the lexicon's relative times."""

    @property
    def days(self) -> Interval:
        """The days from ``start`` to ``end``."""
        return Interval(self.start.toordinal(), self.end.toordinal() + 1)


def resolved(text: str, reference: datetime) -> list[Resolved]:
    """Return the expressions of time in a text whose days are sure, counted from the day of ``reference``.

    The languages are English, Swedish and German. These are left out: everything behind a quotation mark, "a few weeks
    ago", "next Friday", a bare "Friday", a numeric date that can be read both ways. A count of weeks, months or years
    means that unit: "two weeks ago" is the week from Monday to Sunday.
    """
    unquoted = _QUOTES.split(text[:MAX_TEXT], 1)[0]
    found = []
    spans = expressions(unquoted)
    for span, behind in zip_longest(spans, spans[1:]):
        if behind is not None and _may_share_year(span, behind):
            continue
        if days := _sure_days(span, unquoted, reference.date().toordinal()):
            last = date.fromordinal(min(days.after - 1, date.max.toordinal()))
            relative = span.is_relative and not span.sure
            found.append(
                Resolved(unquoted[span.starts : span.ends].rstrip("."), days.date, last, span.starts, relative)
            )
    return found


def resolved_by_sentence(text: str, reference: datetime) -> list[Resolved]:
    """Return the resolved expressions of each sentence, at their places in the text.

    A quotation mark hides the rest of its own sentence only.
    """
    begin, found = 0, list[Resolved]()
    for sentence in _SENTENCE_ENDS.split(text):
        found += [replace(mention, place=begin + mention.place) for mention in resolved(sentence, reference)]
        begin += len(sentence)
    return found


def ordinal(moment_: int) -> int:
    """Return the day of a moment (ms since the epoch), counted as ``date.toordinal`` does, within the calendar."""
    return min(max(moment_ // _DAY + _EPOCH, 1), date.max.toordinal())


def with_days(text: str, happened_at: int) -> str:
    """Return a sentence with the days in brackets behind each expression that is counted from ``happened_at`` (ms).

    Nothing is written where the meaning is not sure: in another speaker's words in quotation marks, for "a few weeks
    ago", "the next week" in a tale, "next Friday", a season.
    """
    today = datetime.fromordinal(ordinal(happened_at))
    relative = [mention for mention in resolved(text, today) if mention.relative]
    return _written(text, relative, today.date(), _MAX_NOTES)


def with_all_days(text: str, said_at: int) -> str:
    """Return a text with the days in brackets behind each expression whose days depend on ``said_at`` (ms)."""
    reference = moment(said_at)
    found = resolved_by_sentence(text, reference)
    undated = [mention for mention in found if str(mention.start.year) not in mention.expression]
    return _written(text, undated, reference.date())


def shown(days: tuple[int, int]) -> str:
    """Return days as 2026-03-30, 2026-03, 2026, or the first and the last of them."""
    first, last = (date.fromordinal(day) for day in (days[0], days[1] - 1))
    after = date.fromordinal(days[1]) if last < date.max else None
    if first == last:
        return first.isoformat()
    if first.day == 1 and after is not None and after.day == 1:
        if first.month == 1 and (after.year, after.month) == (first.year + 1, 1):
            return f"{first.year:04}"
        if (after.year - first.year) * 12 + after.month - first.month == 1:
            return f"{first.year:04}-{first.month:02}"
    return f"{first.isoformat()} to {last.isoformat()}"


@dataclass(frozen=True, slots=True)
class MentionedDays:
    """The stretches of days that a text mentions; ``is_sure`` tells that the text mentions no others."""

    days: frozenset[Interval] = frozenset()
    is_sure: bool = True

    @property
    def only(self) -> Interval | None:
        """The one stretch of days, where the text surely mentions no other; else None."""
        return next(iter(self.days)) if self.is_sure and len(self.days) == 1 else None


def mentioned_days(text: str, today: int, *, begun: bool = False, lasts: bool = False) -> MentionedDays:
    """Return the stretches of days that a text mentions on the day ``today``.

    With ``begun``, an event's day may be told by "since". With ``lasts``, where a text says a length beside the day,
    only a day with "since" is sure: "as of yesterday it is 4 years".
    """
    by_since = lasts and tells_length(text)
    sure = resolved(text, datetime.fromordinal(today))

    def is_unsure(span: Span) -> bool:
        known = any(mention.place <= span.starts < mention.place + len(mention.expression) for mention in sure)
        since = is_since(span, text)
        is_open = not begun if since else by_since
        return not known or is_open or is_doubtful(span, text) or span.follows

    days = frozenset(mention.days for mention in sure)
    return MentionedDays(days, not any(is_unsure(span) for span in expressions(text)))


def tells_length(text: str) -> bool:
    """Tell whether a text has a length of a day or more, as in "for 4 years"; "two weeks ago" is a time."""
    times = expressions(text)
    return any(
        _is_of_days(quantity) and all(quantity.ends <= time.starts or time.ends <= quantity.starts for time in times)
        for quantity in quantities(text)
    )


def names_no_year(text: str) -> bool:
    """Tell whether a text has a date that comes every year."""
    return any(span.is_yearly for span in expressions(text))


def _is_of_days(quantity: Quantity) -> bool:
    return quantity.unit == "month" or (quantity.unit == "second" and max(quantity.values) >= _SECONDS_OF_DAY)


def dated_once(content: str) -> Sequence[str]:
    """Return the sentences of a content if each names a day or a week and none repeats; else none.

    A content that is due again and again holds for good, and so does a content that is due on no day.
    """
    if len(content) > _MAX_READ:
        return []
    parts = sentences(content)
    return parts if len(parts) <= _MAX_SENTENCES and all(map(_is_dated_once, parts)) else []


def repeats(text: str) -> bool:
    """Tell whether a text says that an event comes again."""
    return not _REPEATED.isdisjoint(_WORD.findall(in_small_letters(text)))


def swapped(span: Span) -> str | None:
    """Return a date in digits with its month and its day exchanged, or None where the date can be read in one way."""
    if span.kind != "numeric" or "." in span.text:
        return None
    mark = "/" if "/" in span.text else "-"
    first, second, year = span.text.split(mark)
    is_either = int(first) != int(second) and max(int(first), int(second)) <= _MAX_MONTH
    return mark.join((second, first, year)) if is_either else None


def _sure_days(span: Span, text: str, today: int) -> Interval | None:
    """Return the days that an expression means; None where the days are not sure."""
    if span.is_relative:
        is_sure = span.sure or not (span.ends_range or span.part or _is_open(span, text))
        return span.days(today) if is_sure else None
    if span.kind == "weekday" or span.shift or span.part or swapped(span):
        return None
    return _nearest(span, today) if span.is_yearly else span.days(today)


def _may_share_year(span: Span, behind: Span) -> bool:
    """Tell whether a date without a year may have the year of the one behind it: "5 March to 8 March 2025"."""
    is_list = behind.kind == span.kind and behind.begins - span.ends <= _APART
    return is_list and span.is_yearly and not behind.is_yearly


def _nearest(span: Span, today: int) -> Interval | None:
    """Return the day of a date without its year; None unless the day of just one year lies within ``_NEAR`` days."""
    readings = {span.days(min(today + ahead, date.max.toordinal())) for ahead in (0, _NEAR)}
    near = [days for days in readings if days and days.is_day and abs(days.first - today) <= _NEAR]
    return near[0] if len(near) == 1 else None


def _is_open(span: Span, text: str) -> bool:
    """Tell whether a relative expression may mean several times, as "a few weeks ago" and "last March" do."""
    words = span.text.split()
    if span.kind == "before_last":
        return words[0] in WEEKDAYS
    if span.kind != "which":
        return not _VAGUE.isdisjoint((" ".join(words[:-2]), " ".join(words[1:-1])))
    shift = WHICH[words[0]]
    if words[1] in WEEKDAYS:
        return shift >= 0
    if UNITS.get(words[1]) == "weekend" and shift > 0:
        return True
    return words[1] not in UNITS or (shift != 0 and _TOLD.search(text[: span.starts]) is not None)


def _is_dated_once(sentence: str) -> bool:
    return not repeats(sentence) and any(map(_is_day, expressions(sentence)))


def _is_day(span: Span) -> bool:
    if span.lead == "since":
        return False
    return span.sure or span.kind in _DAYS or (span.kind == "which" and span.text.split()[-1] not in LONG)


def _written(text: str, found: Sequence[Resolved], today: date, most: int | None = None) -> str:
    written, place = [], 0
    for mention in [one for one in found if not today == one.start == one.end][:most]:
        end = mention.place + len(mention.expression)
        ending = _ENDING.match(text, end)
        end = ending.end() if ending else end
        # Right before a parenthesis the brackets would be a link in Markdown.
        written.append(f"{text[place:end]} [{shown(mention.days)}]{' ' * text.startswith('(', end)}")
        place = end
    return "".join(written) + text[place:]
