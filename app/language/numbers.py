"""Finds the quantities in a text, each in one form: 90 minutes and 1.5 hours are one, 4 pm and 16:00, -3 and minus 3.

Figures are read in any language, numbers in words in English, German and Swedish.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final, TypeVar

CLOCK: Final = "clock"
"""The unit of times of the day, in minutes."""
_T = TypeVar("_T")


def by_name(names: Mapping[_T, str], separator: str | None = None) -> dict[str, _T]:
    """Return what each of the names means that stand for it."""
    return {name: meaning for meaning, text in names.items() for name in text.split(separator)}


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
_UNITS = {
    "second": "s 1|sec 1|secs 1|second 1|seconds 1|sekund 1|sekunder 1|sekunde 1|sekunden 1|ms 0.001|millisecond 0.001|"
    "milliseconds 0.001|min 60|mins 60|minute 60|minutes 60|minut 60|minuter 60|minuten 60|h 3600|hr 3600|hrs 3600|"
    "hour 3600|hours 3600|timme 3600|timmar 3600|stunde 3600|stunden 3600|day 86400|days 86400|dag 86400|dagar 86400|"
    "tag 86400|tage 86400|tagen 86400|week 604800|weeks 604800|vecka 604800|veckor 604800|woche 604800|wochen 604800",
    "month": "month 1|months 1|månad 1|månader 1|monat 1|monate 1|monaten 1|year 12|years 12|år 12|jahr 12|jahre 12|"
    "jahren 12",
    "metre": "mm 0.001|cm 0.01|m 1|metre 1|metres 1|meter 1|meters 1|metern 1|km 1000|kilometre 1000|kilometres 1000|"
    "kilometer 1000|kilometers 1000|centimetre 0.01|centimetres 0.01|centimeter 0.01|centimeters 0.01",
    "mile": "mile 1|miles 1|mi 1|meile 1|meilen 1",
    "foot": "foot 12|feet 12|ft 12|inch 1|inches 1",
    "gram": "mg 0.001|g 1|gram 1|grams 1|gramm 1|kg 1000|kilo 1000|kilos 1000|kilogram 1000|kilograms 1000|"
    "kilogramm 1000|milligram 0.001|milligrams 0.001|ton 1000000|tons 1000000|tonne 1000000|tonnes 1000000",
    "pound": "lb 1|lbs 1|pound 1|pounds 1|gbp 1|£ 1|pund 1|pfund 1|quid 1",
    "euro": "€ 1|eur 1|euro 1|euros 1|cent 0.01|cents 0.01",
    "dollar": "$ 1|usd 1|dollar 1|dollars 1",
    "krona": "kr 1|sek 1|krona 1|kronor 1|kronen 1",
    "byte": "b 1|byte 1|bytes 1|kb 1000|kilobyte 1000|kilobytes 1000|mb 1000000|megabyte 1000000|megabytes 1000000|"
    "gb 1000000000|gigabyte 1000000000|gigabytes 1000000000|tb 1000000000000|terabyte 1000000000000",
    "percent": "% 1|percent 1|procent 1|prozent 1|pct 1",
    "degree": "° 1|degree 1|degrees 1|grad 1|grader 1|°c 1|celsius 1",
    "fahrenheit": "°f 1|fahrenheit 1",
    "litre": "l 1|litre 1|litres 1|liter 1|liters 1|ml 0.001|dl 0.1|cl 0.01",
}
UNITS: Final = {
    name: (base, Decimal(factor))
    for base, names in _UNITS.items()
    for name, factor in (each.split() for each in names.split("|"))
}
"""By what is written behind or before a number: the base unit, and how many of it one is."""
_MULTIPLES = by_name(
    {
        Decimal(12): "dozen dutzend dussin",
        Decimal(100): "hundred hundert hundra",
        Decimal(1_000): "thousand tausend tusen",
        Decimal(1_000_000): "million millions millionen miljon miljoner mio",
        Decimal(1_000_000_000): "billion billions bn milliarde milliarden miljard miljarder",
    }
)
_MINUTES = by_name(
    {
        30: "half an hour|half hour|halbe stunde|halvtimme",
        15: "quarter of an hour|viertelstunde|kvart",
        45: "three quarters of an hour|dreiviertelstunde|trekvart",
        90: "an hour and a half|one and a half hours|anderthalb stunden|eineinhalb stunden|en och en halv timme",
    },
    "|",
)
_SHIFTS = by_name(
    {
        30: "half past",
        -30: "halb|halv",
        15: "quarter past|viertel nach|kvart över",
        -15: "quarter to|viertel vor|kvart i",
    },
    "|",
)
_OTHERWISE = frozenset(["one", "eins", "ett", "sex", "fem", "elf", "null"])
"""Numbers that are other words too: they are evidence, and need none."""


def _words() -> Iterator[tuple[str, int]]:
    """Give the words of 0 to 99 with their numbers."""
    for code, ones in ONES.items():
        yield from ((word, number) for number, word in enumerate(ones))
        for number, tens in enumerate(_TENS[code], 2):
            yield tens, number * 10
            for one, word in enumerate(ones[1:10], 1):
                yield _JOINED[code].format(tens=tens, ones="ein" if word == "eins" else word), number * 10 + one


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
    r"(?P<hour>0*\d{1,2})(?:[:.](?P<minute>\d{2}))?"
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
"""The unit and the factor of what is written on to figures."""
_SUFFIXES_OF_MONEY: Final = {**_SUFFIXES, "m": ("", Decimal(1_000_000))}
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
