"""Reduces the forms of a word to one stem: "bought" and "buy", "gekauft" and "kaufte", "sålde" and "sålt"."""

import re
from functools import lru_cache
from typing import Final

from app.language.lexicon import LANGUAGES, patterns

_STEMMERS: Final = [language["stemmer"] for language in LANGUAGES.values() if "stemmer" in language]
_FORMS: Final = {
    form: forms.split()[0]
    for language in LANGUAGES.values()
    for forms in language.get("forms", "").split("|")
    for form in forms.split()
}
"""The first form of a word, by each of its irregular forms."""
_PARTICIPLE: Final = re.compile(rf"\A(?:{patterns('participle')})")
_ALIKE: Final = 5
"""Letters of the shorter stem, at least, where a longer stem begins with it and counts as the same word."""


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return the stem that the forms of a word, in small letters, have in common, in any language."""
    if word not in _FORMS and (participle := _PARTICIPLE.fullmatch(word)):
        word = participle[1]
    word = _FORMS.get(word, word)
    import snowballstemmer  # noqa: PLC0415 - it loads the stemmers of forty languages: no start waits for them

    for language in _STEMMERS:
        word = snowballstemmer.stemmer(language).stemWord(word)
    return word


def lacking(stems: frozenset[str], among: frozenset[str]) -> frozenset[str]:
    """Return the stems of words that have no form among the other stems."""
    return frozenset(one for one in stems - among if not any(_is_longer(one, other) for other in among))


def _is_longer(one: str, other: str) -> bool:
    """Tell whether the longer of two stems begins with the shorter, which has ``_ALIKE`` letters at least."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _ALIKE and long.startswith(short)
