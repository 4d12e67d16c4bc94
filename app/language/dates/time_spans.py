"""Finds the expressions of time in a query or a text, and drops those that only look like one."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from app.language import lexicon
from app.language.dates import time_words
from app.language.dates.interval import Interval
from app.language.dates.time_patterns import COUNT, COUNTED, GAP, KINDS, MONTH, MORE_OF_COUNT, OF_COUNT, SPAN, any_of
from app.language.dates.time_readings import RELATIVE, read, yearly

_MAX_CANDIDATES = 40
_WORD = re.compile(r"\w+")
_CUE_WORDS = frozenset({
    *time_words.MONTHS, *time_words.WEEKDAYS, *time_words.SEASONS,
    *time_words.UNITS, *(f"{unit}s" for unit in time_words.UNITS),
    *(max(_WORD.findall(name), key=len) for name in time_words.FIXED), "q1", "q2", "q3", "q4",
})  # fmt: skip
_CUE = re.compile(
    r"\d(?:(?<=[12])\d{3}(?!\d)|\d?[-./]\d{1,2}[-./]\d|\d?月|0s)|"
    f"[{''.join(sorted({name[0] for name in time_words.UNSPACED}))}]"
)
# Other scripts' digits, and the one capital that becomes two letters when made small: places in the text must stay.
_PLAIN = {zero + n: str(n) for zero in (0x660, 0x6F0, 0x966, 0xFF10) for n in range(10)} | {0x130: "i"}
_TO_MONTH = re.compile(rf"\s?(?:[-\u2013]|to|until|till|through)\s?{MONTH}")
_OF_A_PERIOD = re.compile(
    rf"{GAP}(?:of|in|im|des|jed\w{{1,2}}|i|varje){GAP}(?:(?:the|a|each|every|any|den|varje){GAP})?"
    rf"(?:{any_of(name for name, unit in time_words.UNITS.items() if unit in time_words.LONG)}\w{{0,2}}"
    rf"|{any_of(time_words.MONTHS)}(?!\w))"
)
"""The words behind a weekday that is told of a longer period, as "of the month"."""
_NAMED = re.compile(rf"(?:^|\s){any_of(time_words.NUMBERED)}\s$")
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)")
_MONTH_NAME = re.compile(rf"(?<!\w){any_of(time_words.MONTHS)}(?!\w)")
_OPEN = frozenset({"before", "after", "since", "until"})
_VERBS = frozenset({"may", "march"})
_RELATIVE_TIMES = lexicon.table("relative_times")
_IF = lexicon.words("if")
_WHETHER = re.compile(rf"(?:{lexicon.patterns('whether')})\s$")
_NO_PAST = lexicon.words("no_past")
_CLAUSE = re.compile(r"[^.,;:!?\n]*")
_HOW_FAR_BACK = 400
_LONGEST_COUNT = 40


@dataclass(frozen=True, slots=True)
class Span:
    """An expression of time, not yet read.

    ``text`` is of the named ``kind``; ``shift`` ("the week before"), ``part`` ("early") and ``lead`` ("since", one of
    the roles in ``LEADS``) stand in front of it. The span is query[starts:ends]; with any preposition, it is
    query[begins:ends]. A span ``follows`` the span before it when only "and", "to" or a hyphen stands between them;
    then it may be the other end of a range.
    """

    kind: str
    text: str
    starts: int
    ends: int
    begins: int = 0
    lead: str = ""
    shift: str = ""
    part: str = ""
    follows: bool = False
    ends_range: bool = False
    has_article: bool = False
    sure: bool = False
    """Whether the expression means one time wherever it stands."""

    @property
    def lead_is_open(self) -> bool:
        """Whether the lead makes it an open time: all the time before it, or after it."""
        return self.lead in _OPEN

    @property
    def is_yearly(self) -> bool:
        """Whether the expression comes every year and names no year."""
        return yearly(self.kind, self.text)

    @property
    def floats(self) -> bool:
        """Whether the expression comes every year or week and does not say which; then it means the most recent."""
        return self.is_yearly or self.kind == "weekday"

    @property
    def is_relative(self) -> bool:
        """Whether the expression is counted from a day."""
        return self.kind in RELATIVE

    def days(self, today: int) -> Interval | None:
        """Return the days that the expression means on a day (an ordinal); None where it means none."""
        return read(self.kind, self.text, self.shift, self.part, today)

    @property
    def is_placed(self) -> bool:
        """Whether the words before the expression make it a time."""
        return bool(self.follows or self.shift or self.part) or self.lead_is_open or self.lead in {"in", "between"}


# Compiling these two takes as long as twenty requests: the first text that may have a time waits for it, no start does.
@cache
def _any_span() -> re.Pattern[str]:
    return re.compile(SPAN)


@cache
def _any_expression() -> re.Pattern[str]:
    patterns = "|".join(f"({pattern})" for pattern in _RELATIVE_TIMES)
    return re.compile(
        rf"(?<!\w)(?:{patterns})(?!\w)".replace("COUNT", COUNT)
        .replace("WEEKDAY", any_of(time_words.WEEKDAYS))
        .replace(" ", GAP)
    )


def in_small_letters(text: str) -> str:
    """Return a text in small letters, each in its place, with its digits as 0 to 9."""
    return text.translate(_PLAIN).lower()


def spans(query: str) -> Iterator[Span]:
    """Yield the expressions of time in a query, in their order."""
    lowered = in_small_letters(query)
    if _CUE_WORDS.isdisjoint(_WORD.findall(lowered)) and _CUE.search(lowered) is None:
        return
    before: Span | None = None
    for _, match in zip(range(_MAX_CANDIDATES), _any_span().finditer(lowered), strict=False):
        span = _span(match, before)
        if _is_time(span, query, lowered):
            yield span
            before = span


def expressions(text: str) -> list[Span]:
    """Return the expressions of time in a text, in their order: the lexicon's relative times, and other ``spans``."""
    found = list(_relative_times(in_small_letters(text)))
    others = [
        span for span in spans(text) if all(span.ends <= other.starts or other.ends <= span.starts for other in found)
    ]
    return sorted([*found, *others], key=lambda span: span.starts)


def without_times(text: str) -> str:
    """Return a text without its expressions of time: "last week" asks for no last time."""
    remaining, place = list[str](), 0
    for span in expressions(text):
        remaining.append(text[place : span.starts])
        place = span.ends
    return " ".join([*remaining, text[place:]])


def _span(match: re.Match[str], before: Span | None) -> Span:
    parts = match.groupdict("")
    kind = next(filter(parts.get, ("unspaced", "cjk", *KINDS)))
    lead = "since" if parts["onwards"] else time_words.LEADS.get(parts["lead"].strip(), "")
    # A preposition that opens no time is not part of the expression.
    first = "lead" if parts["lead"] and lead in _OPEN else next(filter(parts.get, ("shift", "part", kind)))
    follows = before is not None and match.start() - before.ends <= 1 and lead in {"to", "until", "and"}
    ends_range = before is not None and follows and (lead != "and" or before.lead == "between")
    starts, ends = match.start(first), match.end()
    if more := _count_before(match.string, starts):
        parts["shift" if parts["shift"] else kind] = more + match[first]
        starts -= len(more)
    shift, part, article = parts["shift"], parts["part"], bool(parts["the"])
    begins = min(match.start(), starts)
    return Span(kind, parts[kind], starts, ends, begins, lead, shift, part, follows, ends_range, article)


def _is_time(span: Span, query: str, lowered: str) -> bool:
    """Tell whether the span's words are about time here: many words are names, verbs or plain numbers too."""
    if query[span.begins] in "-\u2013" and not span.follows and (span.kind == "year" or query[span.begins + 1] != " "):
        return False  # "- 12 May 2023: rent" is an item of a list, and "3000 - 2000" a sum
    if span.kind == "now":
        return span.ends_range
    if _is_of_a_period(span) and _OF_A_PERIOD.match(lowered, span.ends):
        return False  # "the last Friday of the month" is one of each month
    if span.kind not in {"which", "year"} and not span.floats:
        return True
    rule = _AMBIGUOUS.get(span.kind)
    return rule is None or rule(span, query)


def _count_before(lowered: str, starts: int) -> str:
    """Return the words before a count that belong to it: with them, no days are read of it."""
    if COUNTED.match(lowered, starts) is None:
        return ""
    before = OF_COUNT.search(lowered[max(starts - _LONGEST_COUNT, 0) : starts])
    return before[0] if before else ""


def _count_behind(match: re.Match[str]) -> str:
    """Return the words behind an expression that ends with a count and belong to it, as ``_count_before`` does."""
    behind = MORE_OF_COUNT.match(match.string, match.end())
    return behind[0] if behind and match[0].split()[-1] in time_words.FORMS_OF_UNITS else ""


def _is_of_a_period(span: Span) -> bool:
    """Tell whether an expression may be one of each month or year; "last year in March" is not."""
    if span.kind != "which":
        return span.kind == "weekday"
    thing = span.text.split()[-1]
    return time_words.UNITS.get(thing) != "year" and thing not in time_words.SEASONS


def _is_unit(span: Span, query: str) -> bool:
    which, thing = span.text.split()
    if time_words.UNITS.get(thing) == "day" and (thing == "day" or which in time_words.AHEAD):
        return False  # "next morning" is one of a tale
    return not (which == "this" and _is_verb(span, query))


def _is_month(span: Span, query: str) -> bool:
    """Tell whether a month's name without a year means the month: its place, its spelling or the query shows it."""
    name = span.text.rstrip(".")
    return (
        span.is_placed
        or name in time_words.CLEAR_MONTHS
        or query.strip(" \t\n.,!?").lower() == name
        or (span.lead == "en" and name not in time_words.ENGLISH_MONTHS)
        or _TO_MONTH.match(query[span.ends :].lower()) is not None
    )


def _is_date(span: Span, query: str) -> bool:
    ordinal = _ORDINAL.search(span.text) is not None
    return span.is_placed or span.lead == "near" or ordinal or not _is_verb(span, query)


def _is_year(span: Span, query: str) -> bool:
    return span.is_placed or _NAMED.search(query[: span.starts].lower()) is None


def _is_verb(span: Span, query: str) -> bool:
    """Tell whether the month is written as the verb is: "5 may", not "5 May"."""
    name = _MONTH_NAME.search(query[span.starts : span.ends])
    return name is not None and name[0] in _VERBS


_AMBIGUOUS: Mapping[str, Callable[[Span, str], bool]] = {
    "which": _is_unit,
    "month": _is_month,
    "day": _is_date,
    "days": _is_date,
    "year": _is_year,
    "season": lambda span, _: span.is_placed and span.has_article,
    "quarter": lambda span, _: span.is_placed,
}
"""By the kind of an ambiguous expression, the function that tells whether it is an expression of time."""


def _relative_times(lowered: str) -> Iterator[Span]:
    for _, match in zip(range(_MAX_CANDIDATES), _any_expression().finditer(lowered), strict=False):
        kind, _, text = list(_RELATIVE_TIMES.values())[(match.lastindex or 0) - 1].partition(" ")
        if not text.endswith("from now") or _is_ahead(match, lowered):
            words = match[0].split()
            text = text.replace("WORD", words[-1]).replace("COUNT", _count(words) if "COUNT" in text else "")
            before, behind = _count_before(lowered, match.start()), _count_behind(match)
            ends = match.end() + len(behind)
            yield Span(kind, f"{before}{behind}{text}", match.start() - len(before), ends, sure=True)


def _count(words: list[str]) -> str:
    """Return the count and the unit of an expression, as "2 weeks"."""
    place = next(place for place, word in enumerate(words[1:], 1) if word in time_words.FORMS_OF_UNITS)
    number = words[place - 1]
    return f"{time_words.COUNTS.get(number) or int(number)} {time_words.FORMS_OF_UNITS[words[place]]}s"


def _is_ahead(match: re.Match[str], lowered: str) -> bool:
    """Tell whether the words are a time to come: "in two weeks" may be a length, "om två veckor" may be a doubt."""
    furthest = max(match.start() - _HOW_FAR_BACK, 0)
    begins = max(lowered.rfind(mark, furthest, match.start()) for mark in ".,;:!?\n") + 1
    before = lowered[max(begins, furthest) : match.start()]
    if match[0].split()[0] in _IF:
        return _WHETHER.search(before) is None
    rest = _CLAUSE.match(lowered, match.end(), match.end() + _HOW_FAR_BACK)
    words = set(_WORD.findall(before + (rest[0] if rest else "")))
    return words.isdisjoint(time_words.PAST) and not any(word.endswith("ed") for word in words - _NO_PAST)
