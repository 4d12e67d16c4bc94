"""Tells by a word whether a text says that an event did not happen or may not have, or that it was planned."""

import re
from typing import Final

from app.language.lexicon import patterns, words

DENIALS: Final = words("denials")
"""Words that deny, besides every word that ends in "n't"."""
_UNDONE: Final = DENIALS | words("undone")
_PLANS: Final = words("plans")
_WORD = re.compile(r"[\w'\u2019]+")
_WORD_ALONE = re.compile(r"\w+")
_DENIED = re.compile(r"n['\u2019]t$|^(?:do|does|did|have|has|had|is|was|were|ca|wo)nt$")
_APART = re.compile(rf"(?<!\w)(?:{patterns('undone_apart')})(?!\w)")


def may_not_have_happened(text: str) -> bool:
    """Tell whether a text has a word by which an event in it did not happen, or may not have."""
    lowered = text.lower()
    undone = any(word in _UNDONE or _DENIED.search(word) for word in _WORD.findall(lowered))
    return undone or _APART.search(lowered) is not None


def is_planned(text: str) -> bool:
    """Tell whether a text has a word by which a day in it is a planned day, and not the day of the event."""
    return not _PLANS.isdisjoint(_WORD_ALONE.findall(text.lower()))
