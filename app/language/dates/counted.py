"""Finds expressions counted from a day that a query hardly has: "in two weeks", "för tre dagar sedan", "i fredags".

Each is read as the expression of ``time_readings`` that means the same, so that there is one arithmetic of them.
"""

import re
from collections.abc import Iterator

from app.language.dates import time_words as words
from app.language.dates.time_spans import Span, any_of, in_small_letters, spans

_MAX_CANDIDATES = 40
_GAP = r"\s{1,2}"
_SOME = rf"(?:\d{{1,3}}|{any_of(words.COUNTS)}){_GAP}(?:{any_of(words.FORMS_OF_UNITS)})"
_FORMS = {
    "from": rf"(?:heute{_GAP}in{_GAP}{_SOME}|morgen{_GAP}in{_GAP}{_SOME}|{_SOME}{_GAP}from{_GAP}(?:today|tomorrow))",
    "ahead": rf"(?:in|om){_GAP}{_SOME}",
    "back": rf"för{_GAP}{_SOME}{_GAP}(?:sedan|sen)|vor{_GAP}{_SOME}",
    "last": rf"i{_GAP}(?:{any_of(name for name in words.WEEKDAYS if name.endswith('dags'))})|i{_GAP}fjol",
    "next": rf"på{_GAP}(?:{any_of(name for name in words.WEEKDAYS if name.endswith('dag'))})"
    rf"|kommende[nrsm]?{_GAP}(?:{any_of(words.WEEKDAYS)}|woche|monat|jahr)",
    "this": rf"den{_GAP}här{_GAP}(?:veckan|månaden)|det{_GAP}här{_GAP}året|i{_GAP}år",
    "fixed": rf"i{_GAP}övermorgon|(?<!heute\s)(?<!jeden\s)(?<!guten\s)(?<!am\s)(?<!gestern\s)morgen",
}
_EXPRESSION = re.compile(rf"(?<!\w)(?:{'|'.join(f'(?P<{form}>{pattern})' for form, pattern in _FORMS.items())})(?!\w)")
_WHETHER = re.compile(r"(?:undrar|undrade|vet|veta|frågar|frågade|osäker\spå|oklart)\s$")
_CLAUSE = re.compile(r"[^.,;:!?\n]*")
_WORD = re.compile(r"\w+")
_FREQUENT = frozenset(("need", "feed", "indeed"))
_HOW_FAR_BACK = 400


def expressions(text: str) -> list[Span]:
    """Return the expressions of time in a text, in their order: these, and those of ``spans`` beside them."""
    found = list(_counted(in_small_letters(text)))
    others = [
        span for span in spans(text) if all(span.ends <= each.starts or each.ends <= span.starts for each in found)
    ]
    return sorted([*found, *others], key=lambda span: span.starts)


def _counted(lowered: str) -> Iterator[Span]:
    for _, match in zip(range(_MAX_CANDIDATES), _EXPRESSION.finditer(lowered), strict=False):
        if match.lastgroup != "ahead" or _is_ahead(match, lowered):
            kind, text = _in_english(str(match.lastgroup), match[0].split())
            yield Span(kind, text, match.start(), match.end(), sure=True)


def _in_english(form: str, said: list[str]) -> tuple[str, str]:
    """Return the kind and the words of the expression that means the same."""
    match form:
        case "from":
            day = "tomorrow" if "tomorrow" in said or said[0] == "morgen" else "today"
            return "exact", f"{_count(said)} from {day}"
        case "ahead" | "back":
            return "ago", f"{_count(said)} {'from now' if form == 'ahead' else 'ago'}"
        case "fixed":
            return "fixed", "day after tomorrow" if "övermorgon" in said else "tomorrow"
    return "which", f"{form} {'år' if said[-1] == 'fjol' else said[-1]}"


def _count(said: list[str]) -> str:
    """Return how many of which unit an expression counts."""
    place = next(place for place, word in enumerate(said[1:], 1) if word in words.FORMS_OF_UNITS)
    number = said[place - 1]
    return f"{words.COUNTS.get(number) or int(number)} {words.FORMS_OF_UNITS[said[place]]}s"


def _is_ahead(match: re.Match[str], lowered: str) -> bool:
    """Tell whether the words are a time here: "in two weeks" may be how long it took, "om två veckor" a doubt."""
    furthest = max(match.start() - _HOW_FAR_BACK, 0)
    begins = max(lowered.rfind(mark, furthest, match.start()) for mark in ".,;:!?\n") + 1
    before = lowered[max(begins, furthest) : match.start()]
    if match[0].startswith("om"):
        return _WHETHER.search(before) is None
    rest = _CLAUSE.match(lowered, match.end(), match.end() + _HOW_FAR_BACK)
    said = set(_WORD.findall(before + (rest[0] if rest else "")))
    return said.isdisjoint(words.PAST) and not any(word.endswith("ed") for word in said - _FREQUENT)
