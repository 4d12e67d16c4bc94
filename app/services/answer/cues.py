"""Tells whether a sentence has what a question asks for: a time, a place, a name, a number, a reason."""

import re

from app.services.answer.wording import Wording
from app.statements.dates.time_spans import spans
from app.statements.tokens import tokens

_NAME = re.compile(r"(?<=[^\s.!?:])\s+(?!I\b)[A-Z\u00c0-\u00de]\w")
_TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|Herr|Frau)\b")
_DIGIT = re.compile(r"\d")
_CLOCK = re.compile(r"\d\d?[:.]\d\d|\d\s?(?:am|pm|Uhr)\b|klockan\s\d")


def answers(cue: str, text: str, wording: Wording) -> bool:
    """Tell whether a sentence has what a question of this cue asks for; of "" no sentence has anything."""
    match cue:
        case "when":
            return _CLOCK.search(text) is not None or any(spans(text))
        case "where":
            return _has_place(text, wording)
        case "who":
            return _NAME.search(text) is not None or _TITLE.search(text) is not None
        case "how_many":
            return _DIGIT.search(text) is not None or wording.phrases["cues.numbers"].within(tokens(text))
        case "why":
            return wording.phrases["cues.reasons"].within(tokens(text))
    return False


def _has_place(text: str, wording: Wording) -> bool:
    words = tokens(text)
    return wording.phrases["cues.places"].within(words[1:-1] if len(words) > 2 else ())  # noqa: PLR2004 - one beside it
