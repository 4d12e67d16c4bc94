"""Escapes texts of memories where they are shown: characters that would act on a terminal; the data keep them."""

import json
import re
from typing import Any

# Characters of the categories Cc, Cf, Co, Cs, Zl and Zp except line breaks and tabs; fillers; variation selectors
# except one of an emoji. They act on a terminal, reorder the text, or are not seen at all.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u2064\u2066-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f\U000e0100-\U000e01ef"
    "\U000f0000-\U000ffffd\U00100000-\U0010fffd]+|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]+"
)
_MANY = 1000


def visible(text: str) -> str:
    """Return a text that does nothing to a terminal: control, bidirectional and invisible characters are escaped.

    Line breaks and tabs stay as they are.
    """
    return _HIDDEN.sub(lambda run: run[0].encode("unicode_escape", "surrogatepass").decode(), text)


def one_line(text: str, most: int | None = None) -> str:
    """Return a text as ``visible`` does, on one line; the text behind ``most`` characters becomes an ellipsis."""
    shown = text if most is None or len(text) <= most else f"{text[:most].rstrip()} ..."
    return visible(shown).replace("\n", "\\n").replace("\t", "\\t")


def json_text(value: Any, *, spaced: bool = False) -> str:  # noqa: ANN401 - whatever JSON has
    """Return JSON on one line, in which the same characters are written as JSON's own escapes.

    ``spaced``: there is a space behind each comma and colon, for people.
    """
    separators = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(value, ensure_ascii=False, separators=separators)
    text, runs = _HIDDEN.subn(lambda run: json.dumps(run[0])[1:-1], text, count=_MANY)
    # Where a text has very many such runs, everything beyond ASCII is escaped, which costs far less.
    return text if runs < _MANY else json.dumps(value, separators=separators)
