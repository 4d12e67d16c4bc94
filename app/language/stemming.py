"""Brings the forms of a word to one: "bought" and "buy", "gekauft" and "kaufte", "sålde" and "sålt".

Verbs that change inside stand in a table, in English, Swedish and German; of other words the endings are left out.
"""

from collections.abc import Iterator
from typing import Final

from app.language.lexicon import LANGUAGES


def _forms() -> Iterator[tuple[str, str]]:
    """Give the forms that no ending tells, each with the first of its word."""
    for language in LANGUAGES.values():
        for first, *others in map(str.split, language.get("forms", "").split("|")) if "forms" in language else ():
            yield from ((form, first) for form in (first, *others))


_FORMS: Final = dict(_forms())
_ENDINGS: Final = (
    *(
        "ation",
        "ements",
        "ement",
        "ments",
        "ment",
        "ings",
        "ing",
        "ions",
        "ion",
        "ades",
        "ade",
        "ad",
        "ats",
        "at",
        "ied",
    ),
    *("ies", "ed", "es", "er", "en", "et", "te", "ar", "or", "s", "e", "a", "y"),
)
_LEAST: Final = 3
_ALIKE: Final = 5
"""Letters that are enough of a word where a longer one begins with it."""


def stem(word: str) -> str:
    """Return what forms of a word, in small letters, have in common."""
    if word not in _FORMS and word[:2] == "ge" and word[-1:] in {"t", "n"} and len(word) > _ALIKE + 1:
        word = word[2:].removesuffix("t")
    before = ""
    while word not in _FORMS and word != before:
        before, word = word, _shorter(word)
    return _FORMS.get(word, word)


def _shorter(word: str) -> str:
    """Return a word without its longest ending, and without the second of two letters at the end."""
    fits = (ending for ending in _ENDINGS if word.endswith(ending) and len(word) - len(ending) >= _LEAST)
    word = word[: len(word) - len(next(fits, ""))]
    is_double = word[-1:] == word[-2:-1] and len(word) > _LEAST and word not in _FORMS
    return word[:-1] if is_double else word


def lacking(stems: frozenset[str], among: frozenset[str]) -> frozenset[str]:
    """Return the stems of words of which no form is among others."""
    return frozenset(one for one in stems - among if not any(_is_longer(one, other) for other in among))


def _is_longer(one: str, other: str) -> bool:
    """Tell whether one stem begins with the other one."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _ALIKE and long.startswith(short)
