"""Texts of memories as they are shown: what would act instead of being read is escaped; data keep it."""

import json
import unicodedata
from typing import Any

_SELECTORS = range(0xE0100, 0xE01F0)
"""Variation selectors beyond those that emoji use: invisible, and enough of them to spell a text."""


def visible(text: str) -> str:
    """Return a text that does nothing to a terminal: control, bidirectional and invisible characters are escaped.

    Line breaks and tabs stay as they are.
    """
    return "".join(
        character.encode("unicode_escape", "surrogatepass").decode() if _is_hidden(character) else character
        for character in text
    )


def json_text(value: Any) -> str:  # noqa: ANN401 - whatever JSON has
    """Return JSON without white space, in which the same characters are written as JSON's own escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(json.dumps(character)[1:-1] if _is_hidden(character) else character for character in text)


def _is_hidden(character: str) -> bool:
    if character.isascii() and character.isprintable():
        return False
    category = unicodedata.category(character)
    return (category in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"} and character not in "\n\t") or ord(
        character
    ) in _SELECTORS
