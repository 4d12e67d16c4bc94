"""The words that deny, or say that something did not happen or may not have, in English, German and Swedish.

This table stays as small as it is. What else a language says with words is the reader's to know.
"""

import re
from typing import Final

from app.domain.words import word_set

DENIALS: Final = word_set(
    "not never no none nobody nothing neither nor without cannot",
    "nicht kein keine keinen keinem keiner keines nie niemals nichts ohne niemand weder",
    "inte ej aldrig ingen inget inga utan icke varken",
)
"""Besides every word that ends in "n't"."""
_UNDONE: Final = word_set(
    "cancel cancels cancelled canceled cancelling canceling postponed rescheduled skipped missed forgot forgotten",
    "almost nearly should would could",
    "abgesagt absagen verschoben storniert ausgefallen verpasst vergessen vergaß vergaßen beinahe",
    "hätte hätten wäre wären sollte sollten",
    "inställd inställt inställda avbokad avbokat avbokade uppskjuten uppskjutet missade missat glömde glömt nästan",
    "borde skulle",
)
_WORD = re.compile(r"[\w'\u2019]+")
_DENIED = re.compile(r"n['\u2019]t$|^(?:do|does|did|have|has|had|is|was|were|ca|wo)nt$")
_APART = re.compile(
    r"(?<!\w)(?:call(?:ed|ing)? (?:\w+ ){0,3}off|ställde?s? (?:\w+ ){0,3}in|sköts (?:\w+ ){0,3}upp)(?!\w)"
)


def may_not_be(text: str) -> bool:
    """Tell whether a text has a word by which something in it did not happen, or may not have."""
    said = text.lower()
    words = _WORD.findall(said)
    return any(word in DENIALS or word in _UNDONE or _DENIED.search(word) for word in words) or bool(
        _APART.search(said)
    )
