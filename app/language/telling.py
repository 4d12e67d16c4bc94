"""Tells the language of a text by its small words, where these are enough to tell."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from app.language.lexicon import LANGUAGES

_WORD = re.compile(r"[^\W\d_]+")
_LOOKED_AT = 400
"""Characters of a text that are enough."""
_LEAST = 2
"""So many small words tell a language, and twice as many as tell any other: most languages share a few."""


def _telling() -> Mapping[str, tuple[str, ...]]:
    told: dict[str, list[str]] = {}
    for code, language in LANGUAGES.items():
        for word in language.get("telling", "").split():
            told.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in told.items()}


_TELLING: Final = _telling()
"""The languages that each small word is of."""
_LETTERS: Final = {code: language.get("letters", "") for code, language in LANGUAGES.items() if "telling" in language}
"""The letters of each language beside those of English."""


def language_of(text: str) -> str | None:
    """Return the code of the language of a text; None where it has too few small words to tell."""
    found = Counter(
        code for word in _WORD.findall(text[:_LOOKED_AT].lower()) for code in _TELLING.get(word, ())
    ).most_common(2)
    if not found or found[0][1] < _LEAST:
        return None
    return found[0][0] if len(found) == 1 or found[0][1] >= 2 * found[1][1] else None


def are_apart(one: str | None, other: str | None) -> bool:
    """Tell whether two languages are surely two: what is of no language that can be told may be of any."""
    return one is not None and other is not None and one != other


def seems_apart(question: str, language: str | None) -> bool:
    """Tell whether a question that does not tell its language seems to be in another one than this.

    Where it has no small word of the language, one of another language is enough, or a letter that the language lacks.
    """
    if language is None:
        return False
    words = _WORD.findall(question[:_LOOKED_AT].lower())
    known = [_TELLING.get(word, ()) for word in words]
    if any(language in codes for codes in known):
        return False
    return any(known) or any(not letter.isascii() and letter not in _LETTERS[language] for letter in "".join(words))
