"""Reads a question for a length of time, or for a day so long before or after something."""

from dataclasses import dataclass
from typing import Literal

from app.language.tokens import BREAKS, QUOTES, Phrases, Tokens
from app.services.answer.wording import Wording

Unit = Literal["day", "week", "month", "year"]
UNITS: tuple[Unit, ...] = ("day", "week", "month", "year")
_MAX_WORDS = 60
_MAX_COUNT = 9999


@dataclass(frozen=True, slots=True)
class LengthAsked:
    """How long it is from one thing to another; None as an end is the day of the question.

    ``ordered``: the question says that the first end is the earlier one.
    """

    unit: Unit | None
    first: Tokens | None
    last: Tokens | None
    ordered: bool = True


@dataclass(frozen=True, slots=True)
class DayAsked:
    """Which day is so many units after a thing, or before it where ``count`` is below 0."""

    unit: Unit
    count: int
    of: Tokens


def asked(words: Tokens, wording: Wording) -> LengthAsked | DayAsked | None:
    """Return what a question asks; None where it asks for no length, or does not say clearly between what."""
    words = tuple(word for word in words[:_MAX_WORDS] if word not in BREAKS and word not in QUOTES)
    return _length(words, wording) or _day(words, wording)


def _length(words: Tokens, wording: Wording) -> LengthAsked | None:
    for place in range(len(words)):
        if length := wording.phrases["time.how_many"].at(words, place):
            unit = _unit(words, place + length, wording)
            return _ends(words[place + length + 1 :], unit, wording) if unit else None
        if length := wording.phrases["time.how_long"].at(words, place):
            return _ends(words[place + length :], None, wording)
    return None


def _unit(words: Tokens, place: int, wording: Wording) -> Unit | None:
    if place >= len(words):
        return None
    return next((unit for unit in UNITS if words[place] in wording.words[f"time.{unit}"]), None)


def _ends(rest: Tokens, unit: Unit | None, wording: Wording) -> LengthAsked | None:
    """Read what stands after "how many days": the first word of time decides what is asked."""
    for place in range(len(rest)):
        before = rest[:place]
        for role in ("ago", "between", "from", "since", "after", "before", "until"):
            length = wording.phrases[f"time.{role}"].at(rest, place)
            if length:
                return _by_role(role, unit, before, rest[place + length :], wording)
    return None


def _by_role(role: str, unit: Unit | None, before: Tokens, after: Tokens, wording: Wording) -> LengthAsked | None:
    if role == "ago":
        return LengthAsked(unit, after or before, None)
    if role in {"between", "from"}:
        return _two(unit, after, wording.phrases["time.and" if role == "between" else "time.to"])
    empty = not _bare(before, wording)
    if role == "since":
        return LengthAsked(unit, after, None) if empty else None
    if role == "until" and empty:
        return LengthAsked(unit, None, after)
    one, other = (after, before) if not empty else _turned(after, wording)
    if not one or not other or role == "until":
        return None
    return LengthAsked(unit, one, other) if role == "after" else LengthAsked(unit, other, one)


def _two(unit: Unit | None, words: Tokens, joints: Phrases) -> LengthAsked | None:
    """Read "A and B"; with several "and" it is not sure where the first ends."""
    places = [place for place in range(1, len(words)) if joints.at(words, place)]
    if len(places) != 1:
        return None
    place = places[0]
    return LengthAsked(unit, words[:place], words[place + joints.at(words, place) :], ordered=False)


def _turned(words: Tokens, wording: Wording) -> tuple[Tokens, Tokens]:
    """Divide "the marathon did I adopt the cat" at the verb that begins the question."""
    for place in range(1, len(words) - 1):
        if wording.phrases["time.turns"].at(words, place) and _bare(words[:place], wording):
            return words[:place], words[place + 1 :]
    return (), ()


def _day(words: Tokens, wording: Wording) -> DayAsked | None:
    """Read "which date is three weeks after the surgery"."""
    if not any(wording.phrases["time.which_date"].at(words, place) for place in range(min(len(words), 2))):
        return None
    for place in range(1, len(words) - 2):
        count, unit = _count(words[place], wording), _unit(words, place + 1, wording)
        for role, side in (("after", 1), ("before", -1)):
            length = wording.phrases[f"time.{role}"].at(words, place + 2)
            if count and unit and length and words[place + 2 + length :]:
                return DayAsked(unit, side * count, words[place + 2 + length :])
    return None


def _count(word: str, wording: Wording) -> int | None:
    numbers = wording.order["time.numbers"]
    if word in numbers:
        return numbers.index(word) + 1
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= len(str(_MAX_COUNT)) else None


def _bare(words: Tokens, wording: Wording) -> Tokens:
    return tuple(word for word in words if word not in wording.words["time.unsaid"])
