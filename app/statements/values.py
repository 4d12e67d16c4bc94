"""Reads values: dates, times, numbers, addresses and names, each in one form however it is written."""

import re
from collections.abc import Callable, Mapping

from app.language.tokens import Tokens
from app.statements.moments import moment
from app.statements.packs import Pack

MAX_WORDS = 6
"""What has more words is told as more than a value."""
_PORT_DIGITS = 6

_NUMBER = re.compile(
    r"[$\u20ac\u00a3]?(\d{1,9})(?:[.,](\d{1,9}))?([.,]\d{3})?(k|m|kg|cm|g|%|\u20ac|\$|mg|ml|px|ms|s|gb|mb)?"
)
_GROUPED = re.compile(r"\d,\d{3}")
_VERSION = re.compile(r"v?(\d{1,6}(?:\.(?:\d{1,6}|x))?(?:\.(?:\d{1,6}|x))?)")
_PHONE = re.compile(r"\+?[\d\-/().]+")
_EMAIL = re.compile(r"\A[^@\s]+@[^@\s]+\.[^@\s.]+")
_URL = re.compile(r"\A(?:https?://)?((?:[\w-]+\.)+[a-z][\w-]*(?:[:/].*)?|localhost(?:[:/].*)?)/?")
_MIN_DIGITS = 5
_MAX_BEFORE_NUMERAL = 2


def value(kind: str, words: Tokens, pack: Pack) -> str | None:
    """Return a value of a kind in its one form, or None where the words hold no such value."""
    if not words or words[0] in pack.words["infinitive"]:
        return None
    if kind not in _EXACT and pack.phrases["blocks.clause"].within(words):
        return None
    return _READERS.get(kind, _text)(words, pack)


def _when(words: Tokens, pack: Pack) -> str | None:
    day, time = moment(words, pack)
    return " ".join(filter(None, (day, time))) or None


def _day(words: Tokens, pack: Pack) -> str | None:
    return moment(words, pack)[0] or None


def number_at(words: Tokens, place: int) -> tuple[str, str, int] | None:
    """Return the number at a place in its one form, the unit written on to it, and the place after it."""
    word = words[place]
    found = _NUMBER.fullmatch(word.replace(",", "") if _GROUPED.search(word) else word)
    if not found:
        return None
    digits, part, end = found[1], found[2] or "", place + 1
    if found[3] or len(part) == 3:  # noqa: PLR2004 - a stop before three digits divides thousands
        digits, part = digits + part + (found[3] or "")[1:], ""
    while end < len(words) and len(words[end]) == 3 and words[end].isdecimal():  # noqa: PLR2004
        digits, end = digits + words[end], end + 1
    part = part.rstrip("0")
    scale = {"k": "000", "m": "000000"}.get(found[4] or "", "")
    written = (digits.lstrip("0") or "0") + scale + (f".{part}" if part else "")
    return written, "" if scale else found[4] or "", end


def number(words: Tokens) -> tuple[str, Tokens] | None:
    """Return the first number in its one form, and the words after it."""
    for place in range(min(len(words), MAX_WORDS)):
        if found := number_at(words, place):
            written, unit, end = found
            return written, ((unit,) if unit else ()) + words[end:]
    return None


def counted_at(words: Tokens, place: int, pack: Pack) -> tuple[str, str, int] | None:
    """Return the number at a place, in digits or in words, the unit written on to it, and the place after it."""
    for name, step in (("numerals", 1), ("tens", 10)):
        if words[place] in pack.words[name]:
            return str((pack.order[name].index(words[place]) + 1) * step), "", place + 1
    return number_at(words, place)


def counted(words: Tokens, pack: Pack) -> tuple[str, Tokens] | None:
    """Return the first number, in digits or in words, in its one form, and the words after it."""
    if found := number(words):
        return found
    for place in range(min(len(words), _MAX_BEFORE_NUMERAL)):
        if spoken := counted_at(words, place, pack):
            return spoken[0], words[spoken[2] :]
    return None


def _number(words: Tokens, pack: Pack) -> str | None:
    found = counted(words, pack)
    return found[0] if found else None


def duration(words: Tokens, pack: Pack) -> str | None:
    """Return a number with its unit of time."""
    found = counted(words, pack)
    if not found:
        return None
    unit = next((word for word in found[1][:2] if word in pack.words["durations"]), None)
    return f"{found[0]} {unit.rstrip('sne')}" if unit else None


def _version(words: Tokens, _pack: Pack) -> str | None:
    return next((found[1] for word in words[:3] if (found := _VERSION.fullmatch(word))), None)


def _port(words: Tokens, _pack: Pack) -> str | None:
    return next((word for word in words[:3] if word.isdecimal() and len(word) <= _PORT_DIGITS), None)


def _phone(words: Tokens, _pack: Pack) -> str | None:
    """Return the digits of the first run of words that are a telephone number."""
    digits = ""
    for word in words[:10]:
        if _PHONE.fullmatch(word):
            digits += "".join(filter(str.isdecimal, word))
        elif digits:
            break
    return digits if len(digits) >= _MIN_DIGITS else None


def _email(words: Tokens, _pack: Pack) -> str | None:
    return next((word for word in words if len(word) < 100 and _EMAIL.fullmatch(word)), None)  # noqa: PLR2004


def _url(words: Tokens, _pack: Pack) -> str | None:
    found = (_URL.fullmatch(word) for word in words[:4] if len(word) < 300 and "@" not in word)  # noqa: PLR2004
    return next((match[1].rstrip("/") for match in found if match), None)


def _address(words: Tokens, pack: Pack) -> str | None:
    kept = pack.phrases["titles"].trimmed(pack.phrases["prepositions"].trimmed(words))
    return " ".join(kept) if 1 < len(kept) <= MAX_WORDS and any(word[0].isdigit() for word in kept) else None


def _site(words: Tokens, pack: Pack) -> str | None:
    return _text(words[pack.phrases["prepositions"].at(words, 0) :], pack)


def cut(words: Tokens, pack: Pack) -> Tokens:
    """Return the words of a value without titles before it and without what is told of it after it."""
    while words and (length := pack.phrases["titles"].at(words, 0)):
        words = words[length:]
    return words[:1] + pack.phrases["tails"].until(words[1:])


def _text(words: Tokens, pack: Pack) -> str | None:
    kept = cut(words, pack)
    if not kept or len(kept) > MAX_WORDS or kept[0] in pack.words["tails"] or kept[0] in pack.words["pronouns"]:
        return None
    is_state = pack.phrases["states"].at(kept, 0) and kept[0] not in pack.words["colours"]
    return None if is_state else " ".join(kept)


def _attribute(words: Tokens, pack: Pack) -> str | None:
    """Return a name or a short phrase that is no judgement: of "our mascot is a badger", badger."""
    kept = _text(words, pack)
    parts = kept.split() if kept else []
    if not parts or len(parts) > 4 or not pack.words["pronouns"].isdisjoint(parts):  # noqa: PLR2004
        return None
    return None if any(part.endswith(tuple(pack.words["judging"])) for part in parts) else kept


def _title(words: Tokens, pack: Pack) -> str | None:
    """Return what somebody does, which begins with no number."""
    return None if words[0][0].isdigit() else _text(words, pack)


def _person(words: Tokens, pack: Pack) -> str | None:
    """Return a name of a person or a company; "a bank" and "Ann's friend" are none."""
    kept = _text(words, pack)
    if kept is None or kept[0].isdigit() or words[0] in pack.words["indefinite"] or any(moment(words, pack)):
        return None
    return kept if len(kept.split()) <= 4 and "'s" not in kept.split() else None  # noqa: PLR2004


def _place(words: Tokens, pack: Pack) -> str | None:
    """Return a place: of "a flat in Lyon", Lyon."""
    words = words[pack.phrases["prepositions"].at(words, 0) :]
    if words and words[0] in pack.words["articles"] and set(words) & pack.words["within"]:
        last = max(place for place, word in enumerate(words) if word in pack.words["within"])
        words = words[last + 1 :]
    if not words or words[0] in pack.words["pronouns"]:
        return None
    if words[0] in pack.words["unplaced"] and not pack.phrases["placed"].at(words, 0):
        return None
    kept = _text(words, pack)
    too_much = kept is None or len(kept.split()) > 3 or any(word[0].isdigit() for word in kept.split())  # noqa: PLR2004
    return None if too_much or any(moment(words, pack)) else kept


def _employer(words: Tokens, pack: Pack) -> str | None:
    """Return a name of a company, or what place of work it is: "a bakery"."""
    if words[0] not in pack.words["indefinite"]:
        return _person(words, pack)
    kept = _text(words, pack)
    return kept if kept and kept.split()[-1] in pack.words["workplaces"] else None


def _status(words: Tokens, pack: Pack) -> str | None:
    """Return how far something is: "in review", "shipped"."""
    return " ".join(words) if pack.phrases["statuses"].at(words, 0) == len(words) else None


def _spot(words: Tokens, pack: Pack) -> str | None:
    """Return where a thing is: "the garage", but neither "hold" nor "the works"."""
    if not words or any(moment(words, pack)) or not pack.words["abstract"].isdisjoint(words):
        return None
    if any(number_at(words, place) for place in range(len(words))):
        return None
    named = words[0] in pack.words["articles"] or words[0] in pack.words["possessives"] or words[-1][0].isdigit()
    named = named or "'s" in words or pack.phrases["titles"].at(words, 0) > 0
    kept = cut(tuple(word for word in words if word not in pack.words["possessives"]), pack) if named else ()
    return " ".join(kept) if 0 < len(kept) <= 4 and pack.words["pronouns"].isdisjoint(kept) else None  # noqa: PLR2004


def _field(words: Tokens, pack: Pack) -> str | None:
    """Return a field of study: "law", but neither "at home" nor "the paper by Ann"."""
    kept = _text(words, pack) if words[0] not in pack.words["articles"] | pack.words["unfielded"] else None
    return kept if kept and len(kept.split()) <= 3 and pack.words["schools"].isdisjoint(kept.split()) else None  # noqa: PLR2004


def _vehicle(words: Tokens, pack: Pack) -> str | None:
    """Return how somebody travels: of "7:40 train", train."""
    return words[-1] if words[-1] in pack.words["vehicles"] else None


def _unspecified(words: Tokens, pack: Pack) -> str | None:
    """Return a name that goes without an article: "Wanjiru", but not "the police"."""
    specified = pack.words["articles"] | pack.words["possessives"]
    return None if words[0] in specified else _person(words, pack)


def _school(words: Tokens, pack: Pack) -> str | None:
    """Return the name of a school, which has a word of its kind in it."""
    kept = _person(words, pack)
    return kept if kept and " " in kept and not pack.words["schools"].isdisjoint(kept.split()) else None


def _occupation(words: Tokens, pack: Pack) -> str | None:
    """Return what somebody does for a living: "junior developer", but not "huge fan"."""
    kept = _text(words, pack)
    return kept if kept and kept.split()[-1].endswith(tuple(pack.words["occupations"])) else None


_EXACT = frozenset(("number", "duration", "day", "when", "phone", "email", "url", "version", "port"))
_READERS: Mapping[str, Callable[[Tokens, Pack], str | None]] = {
    "number": _number,
    "duration": duration,
    "day": _day,
    "when": _when,
    "phone": _phone,
    "email": _email,
    "url": _url,
    "version": _version,
    "port": _port,
    "address": _address,
    "place": _place,
    "person": _person,
    "firm": _person,
    "employer": _employer,
    "site": _site,
    "any": _attribute,
    "title": _title,
    "spot": _spot,
    "status": _status,
    "field": _field,
    "vehicle": _vehicle,
    "unspecified": _unspecified,
    "enrolled": _school,
    "occupation": _occupation,
}
