"""Tells what of time a question asks for: how long it is, on which day, or how many times.

A few words of English, Swedish and German. What is not one of these forms asks for nothing that is computed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from app.language.dates.lengths import UNITS, Unit
from app.language.dates.time_spans import in_small_letters, without_times
from app.language.dates.time_words import FORMS_OF_UNITS
from app.language.modality import is_planned, may_not_have_happened

Form = Literal["past", "future", "between", "day", "times"]
"""How long it is from a day of the past until today, from today until a day to come, or between two days; on which day
something is; how many times it was."""

_LENGTHS: Final[Sequence[Literal["past", "future", "between"]]] = ("past", "future", "between")
_UNITS_BY_NAME: Final = {name: unit for name, word in FORMS_OF_UNITS.items() for unit in UNITS if unit == word}
_MAX_READ = 500
_BETWEEN = ".{0,100}"
"""What may stand between two words that belong together: a bound, so that a text costs what it is long."""
_HOW = re.compile(
    r"(?<!\w)(?P<back>vor )?(?:how long|how much time|hur länge|hur lång tid|wie lange|wie viel zeit"
    rf"|(?:how many|hur många|wie vielen?) (?P<unit>{'|'.join(FORMS_OF_UNITS)}))(?!\w)"
)
_ARTICLE = r"(?:d(?:er|ie|as|em|en|es)|(?:ein|mein|dein|sein|ihr|unser|eur|dies|jen|jed|all)\w*)(?!\w)"
_ENDS = re.compile(
    r"(?<!\w)(?:(?P<past>ago|since|sedan|sen|seit)|(?P<future>until|till|tills|bis)"
    r"|(?P<between>between|after|before|mellan|efter|före|innan|zwischen|nachdem|bevor"
    rf"|(?:nach|vor)(?= {_ARTICLE})))(?!\w)"
)
"""\"Nach Oslo\" is a place, and \"vor Ort\"."""
_BACK = re.compile(rf"(?<!\w)wie (?:lange|viel){_BETWEEN}? her(?!\w)")
_STILL = re.compile(rf"(?<!\w)(?:how long (?:have|has)|hur länge har|wie lange {_BETWEEN}(?:schon|bereits))(?!\w)")
"""What lasts until today in these tenses."""
_SINCE_WHEN = re.compile(r"(?<!\w)(?:since when|seit wann|sedan när)(?!\w)")
_AHEAD = re.compile(
    r"(?<!\w)(?:will|next|upcoming|(?<!since )when (?:do|does)|wird|werden?|nächste\w?|kommer|nästa)(?!\w)"
)
_NORM = re.compile(
    r"(?<!\w)(?:should|shall|must|ought|needs?|ha(?:ve|s) to|supposed to|can|could|soll\w*|muss\w*|müss\w*|darf\w*"
    r"|dürf\w*|kann|können|ska|skall|bör|måste|behöver|how often (?:do|does)|dauer\w*|brauch\w*|tar"
    rf"|how (?:long|much time|many (?:{'|'.join(FORMS_OF_UNITS)})) (?:do|does|did|will|would)(?!\w){_BETWEEN}"
    r"(?<!\w)take)(?!\w)"
)
"""Who asks for what has to be, is usual or is needed, does not ask for what was."""
_WHEN = re.compile(
    r"(?<!\w)(?:when (?:did|do|does|is|was|were|are|will|have|has|had)|since when|(?:seit )?wann|sedan när)(?!\w)"
    r"|^när (?=[^,]*$)"
)
_NOW = re.compile(r"(?<!\w)(?:is|are|am|do|does|ist|sind|bin|är|blir|kommer)(?!\w)")
"""In these tenses a day may be asked for that is to come."""
_LATEST = re.compile(r"(?<!\w)(?:last|zuletzt|letzte[ns]? mal|senast|sist|sista gången)(?!\w)")
_TIMES = re.compile(
    r"(?<!\w)(?:how often|how many times|wie oft|wie häufig|wie viele male|hur ofta|hur många gånger)(?!\w)"
)
_RATE = re.compile(rf"(?<!\w)(?:{'|'.join(FORMS_OF_UNITS)})(?!\w)")
"""Who asks how often a week it is, asks for no count."""


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """What of time is asked for; without a unit a length is told in those that are usual for it."""

    form: Form
    unit: Unit | None = None
    latest: bool = False
    """Whether the last of several days is meant."""
    lasts: bool = False
    """Whether it is of what began and still lasts."""
    ahead: bool = False
    """Whether it is of a day from that of the question on."""
    happened: bool = False
    """Whether it is of what has happened: a day for which that was planned is not its day."""

    @property
    def of_one(self) -> bool:
        """Whether it is told of the sentence that answers best, and of no others."""
        return self.form in {"past", "future", "day"} and not self.latest


def time_question(question: str) -> TimeQuestion | None:
    """Return what of time a question asks for; None where it asks for nothing, or that is not sure."""
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
    """Return between which days a length is asked for; None where the question says no end of it."""
    how = next(_HOW.finditer(text))
    ends, back = _ENDS.search(text, how.end()), _BACK.search(text)
    is_still = _STILL.search(text) is not None
    named = next((form for form in _LENGTHS if ends and ends[form]), None)
    is_back = how["back"] or (back and (ends is None or back.end() <= ends.start()))
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
    """Tell whether a question leans on another event, as by "before"; "till" is a direction in Swedish."""
    return any(ends[0] != "till" for ends in _ENDS.finditer(text))


_FORMS: Final[Sequence[tuple[re.Pattern[str], Callable[[str, str], TimeQuestion | None]]]] = (
    (_TIMES, _times),
    (_HOW, _length),
    (_WHEN, _day),
)
"""What a question that a pattern finds is read as: of its text, and of that without its expressions of time."""
