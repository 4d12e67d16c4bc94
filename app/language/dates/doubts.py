"""Tells whether the words beside an expression of time leave open which day it means.

Small words of English, German and Swedish: articles and prepositions, and those that open a time or make it a guess.
"""

import re

from app.domain.words import word_set
from app.language.dates.time_spans import Span

_GUESSED = word_set(
    "or roughly approximately approx circa ca perhaps maybe probably possibly latest earliest least most ish",
    "think guess believe",
    "oder ungefähr etwa zirka vielleicht wahrscheinlich vermutlich spätestens frühestens mindestens höchstens",
    "wohl glaube",
    "eller ungefär cirka kanske troligen nog senast tidigast minst högst typ tror",
)
"""They may stand on both sides."""
_OPENING = _GUESSED | word_set(
    "about around near nearly almost more less than within by from until till up before after prior beyond towards",
    "gegen um rund bis ab von vom vor nach fast beinahe knapp mehr weniger als",
    "omkring runt kring vid efter före innan från fram förrän mer mindre än nästan knappt drygt",
)
_SINCE = word_set("since seit sedan sen")
_MORE_OR_LESS = word_set("over under")
"""So much more or less than "a year ago"; "over the last year" is in it, and so is "under" in Swedish."""
_PLAIN = word_set(
    "the a an this that on at in of for to is was",
    "am im an in zu zum zur der die das dem den des ein eine einem einen ist war",
    "i på kl för det den en ett är var",
)
"""What may stand between."""
_WORD = re.compile(r"\w+")
_FAR = 60
_AT_MOST = 6


def is_since(span: Span, text: str) -> bool:
    """Tell whether an expression of a text is led by "since"."""
    return span.lead == "since" or not _SINCE.isdisjoint(_before(span, text))


def is_doubtful(span: Span, text: str) -> bool:
    """Tell whether words before or behind an expression of a text open its time, or make it a guess."""
    before = set(_before(span, text))
    opened = _OPENING | _MORE_OR_LESS if span.kind == "ago" else _OPENING
    after = _WORD.findall(text[span.ends : span.ends + _FAR].lower())
    return (span.lead_is_open and span.lead != "since") or not (
        opened.isdisjoint(before) and _GUESSED.isdisjoint(_run(after))
    )


def _before(span: Span, text: str) -> list[str]:
    return _run(_WORD.findall(text[max(span.starts - _FAR, 0) : span.starts].lower())[::-1])


def _run(words: list[str]) -> list[str]:
    """Return the small words that stand first among some."""
    run = list[str]()
    for word in words[:_AT_MOST]:
        if word not in _PLAIN | _OPENING | _SINCE | _MORE_OR_LESS:
            break
        run.append(word)
    return run
