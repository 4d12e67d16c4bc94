"""Tells whether the words beside an expression of time leave its day open.

These are small words: articles and prepositions, and words that open a time or make it a guess.
"""

import re

from app.language.dates.time_spans import Span
from app.language.lexicon import words

_GUESSED = words("guesses")
"""Words that make a time a guess; they may stand on both sides of it."""
_OPENING = _GUESSED | words("openings")
_SINCE = words("since")
_MORE_OR_LESS = words("more_or_less")
_PLAIN = words("beside")
"""Words that may stand between these words and the time."""
_WORD = re.compile(r"\w+")
_FAR = 60
_AT_MOST = 6


def is_since(span: Span, text: str) -> bool:
    """Tell whether an expression of a text is led by "since"."""
    return span.lead == "since" or not _SINCE.isdisjoint(_before(span, text))


def is_doubtful(span: Span, text: str) -> bool:
    """Tell whether words before or behind an expression of a text open its time, or make the time a guess."""
    before = set(_before(span, text))
    opened = _OPENING | _MORE_OR_LESS if span.kind == "ago" else _OPENING
    after = _WORD.findall(text[span.ends : span.ends + _FAR].lower())
    return (span.lead_is_open and span.lead != "since") or not (
        opened.isdisjoint(before) and _GUESSED.isdisjoint(_run(after))
    )


def _before(span: Span, text: str) -> list[str]:
    return _run(_WORD.findall(text[max(span.starts - _FAR, 0) : span.starts].lower())[::-1])


def _run(behind: list[str]) -> list[str]:
    """Return the words up to the first that is no small word, at most ``_AT_MOST``."""
    run = list[str]()
    for word in behind[:_AT_MOST]:
        if word not in _PLAIN | _OPENING | _SINCE | _MORE_OR_LESS:
            break
        run.append(word)
    return run
