"""The words in which a time is told.

The names of months go to dateutil, which reads the dates; no parser of dates reads the other words as a period: units,
seasons, directions, parts.
"""

from dateutil.parser import parserinfo

from app.language.lexicon import LANGUAGES, meanings, words
from app.language.numbers import ONES
from app.language.numbers import UNITS as UNITS_OF_QUANTITIES

_OTHER_MONTHS = zip(
    *(language["months"].split() for language in LANGUAGES.values() if "months" in language), strict=True
)


class DateWords(parserinfo):
    """The words by which dateutil reads dates: its own English words, German, Swedish, French, Spanish and Arabic."""

    JUMP = [*parserinfo.JUMP, "the", "de", "del", "den", "er"]  # noqa: RUF012  # as dateutil declares it
    MONTHS = [(*known, *others) for known, others in zip(parserinfo.MONTHS, _OTHER_MONTHS, strict=True)]  # noqa: RUF012


MONTHS = {name.lower(): number for number, names in enumerate(DateWords.MONTHS, 1) for name in names}
ENGLISH_MONTHS = frozenset(name.lower() for names in parserinfo.MONTHS for name in names)
CLEAR_MONTHS = words("clear_months")
WEEKDAYS = {
    name: number
    for language in LANGUAGES.values()
    for key in ("weekdays", "weekdays_of_the_past")
    for number, name in enumerate(language.get(key, "").split())
}
WHICH = {name: int(shift) for name, shift in meanings("which").items()}
AHEAD = frozenset(name for name, shift in WHICH.items() if shift > 0)
UNITS = meanings("periods")
LONG = frozenset(("month", "quarter", "year"))
"""Units that have each day of the week more than once."""
REPEATED = words("repeated")
"""Words that say that a day comes again."""
SEASONS = {name: int(month) for name, month in meanings("seasons").items()}
"""The first of each season's three months."""
COUNTS = dict.fromkeys(words("articles"), 1) | {
    name: number for ones in ONES.values() for number, name in enumerate(ones[1:13], 1)
}
"""The numbers that stand before a unit."""
BEGINNINGS = words("tens") | words("half") | frozenset(meanings("multiples"))
"""Words with which a number begins that goes on behind them: "twenty two", "half a"."""
BETWEEN_NUMBERS = words("between_numbers")
NUMBERS = {
    **{name: (number, number) for number, name in enumerate(ONES["en"][1:11], 1)},
    **dict.fromkeys(("", "a", "an"), (1, 1)),
    **dict.fromkeys(("couple of", "a couple of"), (2, 3)),
    **dict.fromkeys(("few", "a few"), (2, 6)),
    "several": (3, 7),
}
"""The least and the greatest number that a number word means."""
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}


def _shifts(table: str, separator: str | None = None) -> dict[str, tuple[str, int]]:
    """Return the expressions that mean one unit, each with the unit and its distance from the reference day."""
    shifts = ((name, *meaning.split()) for name, meaning in meanings(table, separator).items())
    return {name: (unit, int(shift)) for name, unit, shift in shifts}


FIXED = _shifts("fixed", "|")
UNSPACED = _shifts("unspaced")
"""The fixed expressions of languages whose words stand without spaces."""
LEADS = meanings("leads", "|")
"""The role of a word before an expression, by the word."""
COUNTED = words("counted")
"""Words that make a number before them a count and no year."""
NUMBERED = words("numbered")
"""Words that make a number after them a name and no year."""
PAST = words("past")
"""Words of the past."""

_STEPS = {UNITS_OF_QUANTITIES[unit]: unit for unit in ("day", "week", "month", "year")}
FORMS_OF_UNITS = {name: _STEPS[unit] for name, unit in UNITS_OF_QUANTITIES.items() if unit in _STEPS}
"""The units by their forms after a number."""
