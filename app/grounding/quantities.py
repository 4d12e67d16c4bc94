"""Finds the quantities in a clause, each in one form: 90 minutes and 1.5 hours are one, 4 pm and 16:00."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from app.grounding.reading import Word
from app.grounding.wording import UNITS, Wording

_NUMBER = re.compile(r"(\d{1,15}(?:[.,]\d{1,15})*)([^\W\d_]{0,12})")
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?(am|pm|h|uhr)?")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_ORDINAL = frozenset(("st", "nd", "rd", "th"))
_SIGNS = frozenset("$\u20ac\u00a3")
_MONEY = frozenset(("dollars", "euros", "euro", "pounds", "kronor"))
_HALF_DAY = 12
_HOURS = 24


@dataclass(frozen=True, slots=True)
class Quantity:
    """words[start:end] of a clause, as a value and the base unit ("" for none, "clock" for minutes of the day)."""

    value: Decimal
    unit: str
    start: int
    end: int

    @property
    def key(self) -> tuple[Decimal, str]:
        """What two expressions of one quantity have in common."""
        return self.value, self.unit


def quantities(words: Sequence[Word], wording: Wording) -> list[Quantity]:
    """Return the quantities of a clause, in their order."""
    found: list[Quantity] = []
    said = [word.folded for word in words]
    place = 0
    while place < len(said):
        if not said[place][0].isdigit() and said[place] not in wording.counting:
            place += 1
            continue
        quantity = _shaped(said, place, wording) or _clock(said, place, wording) or _measured(said, place, wording)
        if quantity:
            found.append(quantity)
        place = quantity.end if quantity else place + 1
    return found


def _shaped(said: list[str], place: int, wording: Wording) -> Quantity | None:
    """Read "half an hour" and "half past seven"."""
    length = wording.phrases["halves"].at(said, place)
    if length:
        number, unit = wording.pairs["halves"][" ".join(said[place : place + length])].split()
        base, factor = UNITS[unit]
        return Quantity(Decimal(number) * factor, base, place, place + length)
    for name, minutes in (("half_past", 30), ("half_before", -30), ("quarter_past", 15), ("quarter_before", -15)):
        length = wording.phrases[name].at(said, place)
        end = place + length
        if length and end < len(said) and (hour := _count(said[end], wording)) is not None and 0 < hour <= _HOURS:
            return _moment(int(hour) * 60 + minutes, said, place, end + 1, wording)
    if said[place] in wording.words["noon"]:
        return Quantity(Decimal(_HALF_DAY * 60), "clock", place, place + 1)
    return Quantity(Decimal(0), "clock", place, place + 1) if said[place] in wording.words["midnight"] else None


def _clock(said: list[str], place: int, wording: Wording) -> Quantity | None:
    word, after = said[place], said[place + 1] if place + 1 < len(said) else ""
    match = _CLOCK.fullmatch(word)
    led = place > 0 and said[place - 1] in wording.words["clock_before"]
    if match is None:
        hour = (
            _count(word, wording)
            if led and word in wording.words["numbers"] and (not after or after in {"pm", "am"})
            else None
        )
        if hour is None or not 0 < hour <= _HOURS:
            return None
        return _moment(int(hour) * 60, said, place, place + 1, wording)
    half = match[3] or (after if after in {"am", "pm", "uhr"} else "")
    german = wording.code != "en" and led and not after and match[2] is None and said[place - 1] != "vid"
    if not (half or ":" in word or (match[2] and led and after == "uhr") or german):
        return None
    minutes = int(match[1]) * 60 + int(match[2] or 0)
    if half in {"am", "pm"}:
        minutes = int(match[1]) % _HALF_DAY * 60 + int(match[2] or 0) + (_HALF_DAY * 60 if half == "pm" else 0)
        return Quantity(Decimal(minutes), "clock", place, place + (1 if match[3] else 2))
    return _moment(minutes, said, place, place + (2 if half and not match[3] else 1), wording)


def _moment(minutes: int, said: list[str], start: int, end: int, wording: Wording) -> Quantity:
    """Return a time of the day; "half past four" with "in the afternoon" in its clause is one after noon."""
    if end < len(said) and said[end] in {"am", "pm"}:
        late, end = said[end] == "pm", end + 1
    else:
        late = not wording.words["afternoon"].isdisjoint(said)
    if late and minutes < _HALF_DAY * 60:
        minutes += _HALF_DAY * 60
    return Quantity(Decimal(minutes % (_HOURS * 60)), "clock", start, end)


def _measured(said: list[str], place: int, wording: Wording) -> Quantity | None:
    word, end, unit = said[place], place + 1, ""
    match = _NUMBER.fullmatch(word)
    value = _value(match[1], wording) if match else _count(word, wording)
    if value is None:
        return None
    if match and match[2]:
        factor = wording.pairs["multiples"].get(match[2])
        if factor and not (match[2] == "m" and not _is_money(said, place)):
            value *= Decimal(factor)
        elif match[2] in UNITS:
            unit = match[2]
        elif match[2] not in _ORDINAL:
            return None
    value, end = _grouped(said, value, end, wording)
    while end < len(said) and said[end] in wording.pairs["multiples"] and said[end] not in {"m", "k"}:
        value, end = value * Decimal(wording.pairs["multiples"][said[end]]), end + 1
    if not unit and place and said[place - 1] in _SIGNS:
        unit = said[place - 1]
    if not unit and end < len(said) and (said[end] in UNITS and (said[end] != "k")):
        unit, end = said[end], end + 1
    if unit and end < len(said) and said[end] in wording.words["aged"]:
        unit, end = "", end + 1  # "34 years old" is said as "I'm 34" too
    base, factor_of = UNITS.get(unit, ("", Decimal(1)))
    return Quantity(value * factor_of, base, place, end)


def _is_money(said: list[str], place: int) -> bool:
    return (place > 0 and said[place - 1] in _SIGNS) or said[place + 1 : place + 2] in (
        ["dollars"],
        ["euros"],
        ["euro"],
    )


def _grouped(said: list[str], value: Decimal, end: int, wording: Wording) -> tuple[Decimal, int]:
    """Read on in "10 000" and "twenty one"."""
    if wording.code != "en":
        while end < len(said) and len(said[end]) == 3 and said[end].isdecimal() and said[end - 1].isdecimal():  # noqa: PLR2004
            value, end = value * 1000 + int(said[end]), end + 1
    if said[end - 1] in wording.words["tens"] and end < len(said) and said[end] in wording.order["numbers"][1:10]:
        return value + wording.order["numbers"].index(said[end]), end + 1
    return value, end


def _count(word: str, wording: Wording) -> Decimal | None:
    """Return the number that a word or figures mean."""
    if word.isascii() and word.isdecimal() and len(word) <= 15:  # noqa: PLR2004 - longer ones are read as codes
        return Decimal(word)
    if word in wording.words["numbers"]:
        return Decimal(wording.order["numbers"].index(word))
    if word in wording.words["tens"]:
        return Decimal(20 + 10 * wording.order["tens"].index(word))
    tens, _, ones = word.partition("-")
    if ones in wording.order["numbers"][1:10] and tens in wording.words["tens"]:
        return Decimal(20 + 10 * wording.order["tens"].index(tens) + wording.order["numbers"].index(ones))
    return None


def _value(figures: str, wording: Wording) -> Decimal | None:
    if _GROUPED.fullmatch(figures) and not (wording.code == "en" and "." in figures):
        figures = figures.replace(",", "").replace(".", "")
    elif wording.code != "en":
        figures = figures.replace(",", ".")
    else:
        figures = figures.replace(",", "")
    try:
        return Decimal(figures)
    except InvalidOperation:  # a version such as 2.4.0 is a code
        return None
