"""Finds the quantities in a text, each in one form: 90 minutes and 1.5 hours are one, 4 pm and 16:00, -3 and minus 3.

Figures are read in any language, numbers in words in English, German and Swedish.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from app.language.units import UNITS

CLOCK: Final = "clock"
"""The unit of times of the day, in minutes."""
_EN = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
_DE = "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn"
_SV = "noll ett två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton nitton"
ONES = {
    "en": f"{_EN} eighteen nineteen".split(),
    "de": f"{_DE} achtzehn neunzehn".split(),
    "sv": _SV.split(),
}
_TENS = {
    "en": ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
    "de": ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"],
    "sv": ["tjugo", "trettio", "fyrtio", "femtio", "sextio", "sjuttio", "åttio", "nittio"],
}
_JOINED = {"en": "{tens}-{ones}", "de": "{ones}und{tens}", "sv": "{tens}{ones}"}
_MULTIPLES = {
    name: Decimal(value)
    for value, names in (
        (12, "dozen dutzend dussin"),
        (100, "hundred hundert hundra"),
        (1_000, "thousand tausend tusen"),
        (1_000_000, "million millions millionen miljon miljoner mio"),
        (1_000_000_000, "billion billions bn milliarde milliarden miljard miljarder"),
    )
    for name in names.split()
}
_SHORT = {"k": Decimal(1_000), "m": Decimal(1_000_000)}
_HALVES = {
    "half an hour|half hour|halbe stunde|halvtimme": 30,
    "quarter of an hour|viertelstunde|kvart": 15,
    "three quarters of an hour|dreiviertelstunde|trekvart": 45,
    "an hour and a half|one and a half hours|anderthalb stunden|eineinhalb stunden|en och en halv timme": 90,
}
_CLOCKS = {
    "half past": 30,
    "halb|halv": -30,
    "quarter past|viertel nach|kvart över": 15,
    "quarter to|viertel vor|kvart i": -15,
}
_OTHERWISE = frozenset(["one", "eins", "ett", "sex", "fem", "elf", "null"])
"""Numbers that are other words too: they are evidence, and need none."""


def _words() -> dict[str, Decimal]:
    found: dict[str, Decimal] = {}
    for code, ones in ONES.items():
        found |= {word: Decimal(number) for number, word in enumerate(ones)}
        for number, tens in enumerate(_TENS[code], 2):
            found[tens] = Decimal(number * 10)
            for one, word in enumerate(ones[1:10], 1):
                found[_JOINED[code].format(tens=tens, ones="ein" if word == "eins" else word)] = Decimal(
                    number * 10 + one
                )
    return found


_WORDS: Final = _words()
_MINUTES: Final = {phrase: minutes for phrases, minutes in _HALVES.items() for phrase in phrases.split("|")}
_SHIFTS: Final = {phrase: minutes for phrases, minutes in _CLOCKS.items() for phrase in phrases.split("|")}
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
_TIME = re.compile(r"(\d{1,2})[:.](\d{2})")
_ORDINALS = frozenset(("st", "nd", "rd", "th"))
_HOURS = frozenset(("am", "pm", "uhr"))
_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Quantity:
    """text[starts:ends] is a quantity.

    ``values``: what it may be ("1.500" is two numbers); ``unit``: the base unit, "" for none, ``CLOCK``. ``demanded``:
    it cannot be another word.
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
        quantity = _read(match, text)
        if quantity is not None:
            found.append(quantity)
            end = quantity.ends
    return found


def _read(match: re.Match[str], text: str) -> Quantity | None:
    if match.lastgroup == "phrase":
        return _phrase(match, text)
    if match["word"]:
        return _worded(match, text)
    return _figures(match, text)


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
    negative = text[max(0, match.start() - 6) : match.start()].casefold() == "minus "
    value, unit, end = _with_unit(-value if negative else value, text, match.end())
    demanded = word not in _OTHERWISE or bool(unit)
    return Quantity(frozenset((value,)), unit, match.start(), end, demanded)


def _figures(match: re.Match[str], text: str) -> Quantity | None:
    figures, tail = match["figures"], (match["tail"] or "").casefold()
    clock = _clock(match, figures, tail, text)
    if clock is not None:
        return clock
    values = list(_values(figures))
    factor, unit, end = Decimal(1), "", match.end()
    if match["money"]:
        unit, _ = UNITS[match["money"]]
    if tail in _SHORT and (tail != "m" or unit):
        factor = _SHORT[tail]
    elif tail in UNITS:
        unit, factor = UNITS[tail]
    elif tail and tail not in _ORDINALS:
        return None
    if not values:
        return None
    before = text[max(0, match.start() - 6) : match.start()].casefold()
    if (match["sign"] or "+") != "+" or before == "minus ":
        factor = -factor
    if not unit and not (tail and tail not in _SHORT):
        scale, unit, end = _with_unit(Decimal(1), text, end)
        factor *= scale
    else:
        scale, end = _multiplied(Decimal(1), text, end)
        factor *= scale
    return Quantity(frozenset(value * factor for value in values), unit, match.start(), end)


def _clock(match: re.Match[str], figures: str, tail: str, text: str) -> Quantity | None:
    """Read "4 pm", "16:30", "16 Uhr"; "4.30" only where one of these words follows."""
    time = _TIME.fullmatch(figures)
    after = _NEXT.match(text, match.end()) if not tail else None
    half = tail or (after[1].casefold() if after else "")
    half = half if half in _HOURS else ""
    if not half and not (time and ":" in figures and not tail):
        return None
    hours, minutes = (time[1], time[2]) if time else (figures, "0")
    if not hours.isdecimal() or int(hours) > 24 or int(minutes) > 59:  # noqa: PLR2004
        return None
    hour = int(hours) % 12 + (12 if half == "pm" else 0) if half in {"am", "pm"} else int(hours)
    end = after.end() if after and half and not tail else match.end()
    return Quantity(frozenset((Decimal((hour * 60 + int(minutes)) % _DAY),)), CLOCK, match.start(), end)


def _values(figures: str) -> Iterator[Decimal]:
    """Give what figures may be; none where they are a version or the like."""
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
    """Read on in "2 million"."""
    while (after := _NEXT.match(text, end)) is not None and after[1].casefold() in _MULTIPLES:
        value, end = value * _MULTIPLES[after[1].casefold()], after.end()
    return value, end


def _with_unit(value: Decimal, text: str, end: int) -> tuple[Decimal, str, int]:
    """Read on in "2 million euros"; the end is that of what was read."""
    value, end = _multiplied(value, text, end)
    after = _NEXT.match(text, end)
    if after is None or after[1].casefold() not in UNITS:
        return value, "", end
    base, factor = UNITS[after[1].casefold()]
    return value * factor, base, after.end()
