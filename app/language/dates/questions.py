"""Tells which time a question asks for: a length, a day, or how many times an event happened.

Only questions of a few forms are recognised; for all others nothing is computed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from app.language.dates.lengths import UNITS, Unit
from app.language.dates.time_spans import in_small_letters, without_times
from app.language.dates.time_words import FORMS_OF_UNITS
from app.language.lexicon import patterns
from app.language.modality import is_planned, may_not_have_happened

Form = Literal["past", "future", "between", "day", "times"]
"""The length of time from a past day until today, from today until a day to come, or between two days; the day of an
event; how many times an event was."""

_LENGTHS: Final[Sequence[Literal["past", "future", "between"]]] = ("past", "future", "between")
_UNITS_BY_NAME: Final = {name: unit for name, word in FORMS_OF_UNITS.items() for unit in UNITS if unit == word}
_MAX_READ = 500


def _any(key: str) -> str:
    return f"(?:{patterns(key, 'questions')})"


def _pattern(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){_any(key)}(?!\w)")


_UNIT = f"(?:{'|'.join(FORMS_OF_UNITS)})"
_HOW = re.compile(rf"(?<!\w)(?P<ago>{_any('ago')})?(?:{_any('how_long')}|{_any('how_many')} (?P<unit>{_UNIT}))(?!\w)")
_ENDS = re.compile(rf"(?<!\w)(?:{'|'.join(f'(?P<{form}>{_any(form)})' for form in _LENGTHS)})(?!\w)")
_BACK, _SINCE_WHEN, _AHEAD, _WHEN, _LATEST, _TIMES = map(
    _pattern, ("back", "since_when", "ahead", "when", "latest", "times")
)
_STILL = _pattern("still")
"""Tenses and words of an event that lasts until today."""
_NORM = _pattern("norm")
"""Words of a question about what has to be, is usual or is needed: it does not ask for an event of the past."""
_NOW = _pattern("now")
"""Tenses in which a question may ask for a day to come."""
_RATE = re.compile(rf"(?<!\w){_UNIT}(?!\w)")
"""A unit in a question such as "how often a week": it asks for a rate, and for no count."""


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """The time that a question asks for; without a unit a length is told in the units that are usual for it."""

    form: Form
    unit: Unit | None = None
    latest: bool = False
    """Whether the question asks for the last of several days."""
    lasts: bool = False
    """Whether the question is about an event that began and still lasts."""
    ahead: bool = False
    """Whether the question asks for a day not before its own day."""
    happened: bool = False
    """Whether the question is about an event that has happened: a day for which it was planned is not its day."""

    @property
    def of_one(self) -> bool:
        """Whether the answer is computed from the sentences that answer best, and from no others."""
        return self.form in {"past", "future", "day"} and not self.latest


def time_question(question: str) -> TimeQuestion | None:
    """Return the time that a question asks for; None where it asks for no time, or where the time is not sure."""
    text = " ".join(in_small_letters(question[:_MAX_READ]).split())
    bare = without_times(text)
    if _NORM.search(bare) or may_not_have_happened(bare):
        return None
    asked = next((form(text, bare) for pattern, form in _FORMS if pattern.search(text)), None)
    if asked is None or asked.form == "future" or asked.ahead or is_planned(text):
        return asked
    may_come = not asked.lasts and asked.form in {"day", "between"} and _NOW.search(text) is not None
    return replace(asked, happened=not may_come)


def _times(_: str, bare: str) -> TimeQuestion | None:
    is_other = _leans(bare) or _RATE.search(bare) or _AHEAD.search(bare)
    return None if is_other else TimeQuestion("times")


def _length(text: str, bare: str) -> TimeQuestion | None:
    """Return the form and the unit of the length that a question asks for; None where it names no end of the length."""
    how = next(_HOW.finditer(text))
    ends, back = _ENDS.search(text, how.end()), _BACK.search(text)
    is_still = _STILL.search(text) is not None
    named = next((form for form in _LENGTHS if ends and ends[form]), None)
    is_back = how["ago"] or (back and (ends is None or back.end() <= ends.start()))
    form = "past" if is_back or (named is None and is_still) else named
    unit = _UNITS_BY_NAME.get(how["unit"])
    if form == "past":
        return TimeQuestion("past", unit, _LATEST.search(bare) is not None, is_still)
    return None if form is None else TimeQuestion(form, unit)


def _day(text: str, bare: str) -> TimeQuestion | None:
    if _leans(_WHEN.sub(" ", bare)):
        return None  # "when did I run after the wedding" may be answered by the day of the wedding
    is_latest, is_since, is_ahead = (
        pattern.search(part) is not None for pattern, part in ((_LATEST, bare), (_SINCE_WHEN, text), (_AHEAD, bare))
    )
    return TimeQuestion("day", None, is_latest, is_since, is_ahead)


def _leans(text: str) -> bool:
    """Tell whether a question leans on another event, by a word such as "before"; "till" is a direction in Swedish."""
    return any(ends[0] != "till" for ends in _ENDS.finditer(text))


_FORMS: Final[Sequence[tuple[re.Pattern[str], Callable[[str, str], TimeQuestion | None]]]] = (
    (_TIMES, _times),
    (_HOW, _length),
    (_WHEN, _day),
)
"""The functions that read a question by the pattern it matches: from its text, and its text without times."""
