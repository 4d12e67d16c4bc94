"""Finds the quantities in a text, each in one form: 90 minutes equal 1.5 hours, 4 pm is 16:00, -3 is minus 3.

Figures are read in any language, numbers in words in English, German and Swedish.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from app.language.lexicon import LANGUAGES, meanings, words

CLOCK: Final = "clock"
"""The unit of times of the day, in minutes."""
ONES: Final = {code: language["ones"].split() for code, language in LANGUAGES.items() if "ones" in language}
"""The words of each language for 0 to 19."""
UNITS: Final = {
    name: (base, Decimal(factor)) for name, meaning in meanings("units").items() for base, factor in [meaning.split()]
}
"""The base unit and the factor of each unit, by the unit's form behind or before a number."""
_MULTIPLES: Final = {name: Decimal(number) for name, number in meanings("multiples").items()}
_MINUTES: Final = {name: int(number) for name, number in meanings("minutes", "|").items()}
_SHIFTS: Final = {name: int(number) for name, number in meanings("minutes_past", "|").items()}
_OTHERWISE: Final = words("other_words_too")
"""Number words that are other words too: in a source they are evidence, in a statement they need none."""


def _words() -> Iterator[tuple[str, int]]:
    """Yield the words of 0 to 99 with their numbers."""
    for code, ones in ONES.items():
        language = LANGUAGES[code]
        yield from ((word, number) for number, word in enumerate(ones))
        joined = [language.get("one_joined", ones[1]), *ones[2:10]]
        for number, tens in enumerate(language["tens"].split(), 2):
            yield tens, number * 10
            for one, word in enumerate(joined, 1):
                yield language["joined"].format(tens=tens, ones=word), number * 10 + one


_WORDS: Final = {word: Decimal(number) for word, number in _words()}
_PHRASE = "|".join(sorted((*_MINUTES, *_SHIFTS), key=len, reverse=True))
_TOKEN = re.compile(
    rf"\b(?P<phrase>{_PHRASE})\b"
    r"|(?<!\w)(?P<sign>[-+\u2212])?(?P<money>[$\u20ac\u00a3])?"
    r"(?P<figures>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d{1,15}(?:[.,:]\d{1,15})*)"
    r"(?P<tail>[^\W\d_]{1,12}(?!\w))?(?!\w)"
    r"|(?P<word>[^\W\d_]+(?:-[^\W\d_]+)?)",
    re.IGNORECASE,
)
_NEXT = re.compile(r"[ \u00a0\u202f-]?(\u00b0[cf]?|%|\$|\u20ac|\u00a3|[^\W\d_]{1,16})(?!\w)", re.IGNORECASE)
_HOUR = re.compile(r" (\d{1,2}(?::\d{2})?|[^\W\d_]{2,8})(?!\w)")
_GROUPED = re.compile(r"\d{1,3}([.,])\d{3}(?:\1\d{3})*")
_TIME_OF_DAY = re.compile(
    r"(?P<hour>0{0,13}\d{1,2})(?:[:.](?P<minute>\d{2}))?"
    r"(?:[ \u00a0\u202f-]?(?P<half>am|pm|uhr)(?!\w)|(?<=:\d\d)(?!\w|[.,:]\d))",
    re.IGNORECASE,
)
"""\"4 pm", "16:30", "16 Uhr"; "4.30" only where one of these words follows."""
_ORDINALS = frozenset(("st", "nd", "rd", "th"))
_SUFFIXES: Final = {
    "": ("", Decimal(1)),
    "k": ("", Decimal(1_000)),
    **dict.fromkeys(_ORDINALS, ("", Decimal(1))),
    **UNITS,
}
"""The unit and the factor of each suffix that is joined to figures."""
_SUFFIXES_OF_MONEY: Final = {**_SUFFIXES, "m": ("", Decimal(1_000_000))}
_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Quantity:
    """The quantity at text[starts:ends].

    ``values``: its possible values ("1.500" may be two numbers); ``unit``: the base unit, "" for none, or ``CLOCK``.
    ``demanded``: the text is surely a number, so a source must have it.
    """

    values: frozenset[Decimal]
    unit: str
    starts: int
    ends: int
    demanded: bool = True


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text, in their order."""
    found: list[Quantity] = []
    end = 0
    for match in _TOKEN.finditer(text):
        if match.start() < end:
            continue
        read = _phrase if match["phrase"] else _worded if match["word"] else _figures
        if (quantity := read(match, text)) is not None:
            found.append(quantity)
            end = quantity.ends
    return found


def _phrase(match: re.Match[str], text: str) -> Quantity | None:
    """Read "half an hour" and "half past seven"."""
    phrase = match[0].casefold()
    if phrase in _MINUTES:
        return Quantity(frozenset((Decimal(_MINUTES[phrase] * 60),)), "second", match.start(), match.end())
    hour = _HOUR.match(text, match.end())
    number = _WORDS.get(hour[1].casefold()) if hour else None
    if hour and number is None and hour[1].isdecimal():
        number = Decimal(hour[1])
    if hour is None or number is None or not 0 < number <= 24:  # noqa: PLR2004
        return None
    minutes = number * 60 + _SHIFTS[phrase]
    both = frozenset(each % _DAY for each in (minutes, minutes + 12 * 60))
    return Quantity(both, CLOCK, match.start(), hour.end())


def _worded(match: re.Match[str], text: str) -> Quantity | None:
    word = match[0].casefold()
    value = _WORDS.get(word, _MULTIPLES.get(word))
    if value is None:
        return None
    value, unit, end = _with_unit(-value if _is_negative(match, text) else value, text, match.end())
    demanded = word not in _OTHERWISE or bool(unit)
    return Quantity(frozenset((value,)), unit, match.start(), end, demanded)


def _figures(match: re.Match[str], text: str) -> Quantity | None:
    if (clock := _time_of_day(match, text)) is not None:
        return clock
    money, suffix = match["money"], (match["tail"] or "").casefold()
    known = (_SUFFIXES_OF_MONEY if money else _SUFFIXES).get(suffix)
    values = list(_values(match["figures"]))
    if known is None or not values:
        return None
    unit, factor = known
    if money and not unit:
        unit, _ = UNITS[money]
    if _is_negative(match, text):
        factor = -factor
    if unit or suffix in _ORDINALS:
        factor, end = _multiplied(factor, text, match.end())
    else:
        factor, unit, end = _with_unit(factor, text, match.end())
    return Quantity(frozenset(value * factor for value in values), unit, match.start(), end)


def _is_negative(match: re.Match[str], text: str) -> bool:
    before = text[max(0, match.start() - len("minus ")) : match.start()]
    return (match["sign"] or "+") != "+" or before.casefold() == "minus "


def _time_of_day(match: re.Match[str], text: str) -> Quantity | None:
    time = _TIME_OF_DAY.match(text, match.start("figures"))
    if time is None:
        return None
    hour, minute, half = int(time["hour"]), int(time["minute"] or 0), (time["half"] or "").casefold()
    if hour > 24 or minute > 59:  # noqa: PLR2004
        return None
    if half in {"am", "pm"}:
        hour = hour % 12 + 12 * (half == "pm")
    return Quantity(frozenset((Decimal((hour * 60 + minute) % _DAY),)), CLOCK, match.start(), time.end())


def _values(figures: str) -> Iterator[Decimal]:
    """Yield the values that figures may have; none where the figures are a version or the like."""
    grouped = _GROUPED.fullmatch(figures)
    if grouped:
        yield Decimal(figures.replace(grouped[1], ""))
        if figures.count(grouped[1]) > 1:
            return
    plain = figures.replace("\u00a0", "").replace("\u202f", "").replace(" ", "")
    if plain.count(",") and plain.count("."):
        last = max(plain.rfind(","), plain.rfind("."))
        plain = plain[:last].replace(",", "").replace(".", "") + "." + plain[last + 1 :]
    try:
        yield Decimal(plain.replace(",", "."))
    except InvalidOperation:
        return


def _multiplied(value: Decimal, text: str, end: int) -> tuple[Decimal, int]:
    """Multiply a value by the multiples behind it, as in "2 million"; return the value and its end."""
    while (after := _NEXT.match(text, end)) is not None and after[1].casefold() in _MULTIPLES:
        value, end = value * _MULTIPLES[after[1].casefold()], after.end()
    return value, end


def _with_unit(value: Decimal, text: str, end: int) -> tuple[Decimal, str, int]:
    """Read the multiples and the unit behind a value, as in "2 million euros"; return the value, unit and end."""
    value, end = _multiplied(value, text, end)
    after = _NEXT.match(text, end)
    if after is None or after[1].casefold() not in UNITS:
        return value, "", end
    base, factor = UNITS[after[1].casefold()]
    return value * factor, base, after.end()
