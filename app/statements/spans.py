"""Finds the measures and moments in a clause: each with its place, its class, and the value in one form."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from app.language.tokens import Tokens
from app.statements import values
from app.statements.moments import moment_at
from app.statements.packs import Pack

MAX_SPANS = 3
"""A clause with more values is a list of them, of which none is told for sure."""
_MAX_CYCLE = 4
_MAX_MOMENT = 12
_CODE = re.compile(r"[a-z]{0,4}-?\d{1,6}[a-z]{0,2}|\d+\.\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Span:
    """A value in a clause."""

    start: int
    end: int
    relation: str
    """What a value of its class tells: "day", "time", "duration", "frequency", "dose" or "amount"."""
    value: str


def spans(words: Tokens, pack: Pack) -> list[Span]:
    """Return the measures and moments of a clause, in order."""
    if pack.words["begins_span"].isdisjoint(words) and not any(
        word[0].isdigit() or word[-1].isdigit() for word in words
    ):
        return []
    return list(islice(_spans(words, pack), MAX_SPANS + 1)) or list(_ordinal(words, pack))


def _spans(words: Tokens, pack: Pack) -> Iterator[Span]:
    place = 0
    while place < len(words):
        found = _cycle(words, place, pack) or _moment(words, place, pack) or _measure(words, place, pack)
        if found:
            yield found
        place = found.end if found else place + 1


def _ordinal(words: Tokens, pack: Pack) -> Iterator[Span]:
    """Give "in third grade" as a number: what has no other value may have a grade or a floor."""
    for place, word in enumerate(words[1:-1], 1):
        before = words[place - 2 : place] if words[place - 1] in pack.words["articles"] else words[place - 1 : place]
        if word in pack.words["ordinals"] and before and before[0] in pack.words["prepositions"]:
            yield Span(place, place + 1, "amount", str(pack.order["ordinals"].index(word) + 2))
            return


def _moment(words: Tokens, place: int, pack: Pack) -> Span | None:
    word = words[place]
    if not (word[0].isdigit() or word in pack.words["begins_moment"]):
        return None
    if word in pack.words["before_date"] and word not in pack.words["clock"] and word not in pack.words["noon"]:
        return None
    day, time, length = moment_at(words[place : place + _MAX_MOMENT], words[place - 1] if place else "", pack)
    if not (day or time):
        return None
    while length > 1 and _is_beside(words[place + length - 1], pack):
        length -= 1
    which = words[place - 1] if place and day.startswith("weekday") else ""
    if which in pack.words["which"]:
        return Span(place - 1, place + length, "day", f"{which} {day} {time}".strip())
    return Span(place, place + length, "day" if day else "time", f"{day} {time}".strip())


def _is_beside(word: str, pack: Pack) -> bool:
    """Tell whether a word after a moment is no part of it."""
    beyond = word.isdecimal() and len(word) > 2 and len(word) != 4  # noqa: PLR2004 - neither a day nor a year
    return beyond or word in pack.words["before_date"] - pack.words["noon"]


def _cycle(words: Tokens, place: int, pack: Pack) -> Span | None:
    """Read how often something is: "weekly", "every two weeks", "twice a day"."""
    if words[place] in pack.words["frequencies"]:
        return Span(place, place + 1, "frequency", words[place])
    length = pack.phrases["cycles"].at(words, place)
    end = place + length
    if not length or (words[end : end + 1] and words[end] in pack.words["weekdays"]):
        return None
    units = ("durations", "each", "articles", "ordinals", "weekdays")
    while end < min(len(words), place + length + _MAX_CYCLE):
        if not any(words[end] in pack.words[name] for name in units) and not values.counted_at(words, end, pack):
            break
        end += 1
    if words[end - 1] not in pack.words["durations"] | pack.words["weekdays"]:
        return None
    said = (word for word in words[place:end] if word not in pack.words["articles"] | pack.words["each"])
    return Span(place, end, "frequency", " ".join(said))


def _measure(words: Tokens, place: int, pack: Pack) -> Span | None:
    """Read a number with its unit, or a code such as "b12"."""
    found = values.counted_at(words, place, pack)
    if found is None:
        return Span(place, place + 1, "amount", words[place]) if _CODE.fullmatch(words[place]) else None
    number, unit, end = found
    if not unit and end < len(words):
        known = any(words[end] in pack.words[name] for name in ("durations", "measures", "currencies", "doses"))
        unit, end = (words[end], end + 1) if known else ("", end)
    if words[place] in pack.words["indefinite"] and not unit:
        return None
    if unit in pack.words["durations"]:
        return Span(place, end, "duration", f"{number} {unit.rstrip('sne')}")
    return Span(place, end, "dose" if unit in pack.words["doses"] else "amount", number)
