"""What stands between quotation marks stands in a source, word for word."""

import re
from collections.abc import Iterator

from app.grounding.known import Comparison
from app.grounding.source import Ungrounded
from app.language.clauses import plain

_MOST = 16
"""Quotations of a statement that are looked for; of more, none is believed."""
_QUOTED = re.compile(
    '["\u201c\u201d\u201e\u00ab\u00bb]([^"\u201c\u201d\u201e\u00ab\u00bb]{1,2000})["\u201c\u201d\u201e\u00ab\u00bb]'
)


def quotations(comparison: Comparison) -> Iterator[Ungrounded]:
    """Give the quotations of a statement that no source has."""
    for number, match in enumerate(_QUOTED.finditer(comparison.claim.text)):
        quoted = plain(match[1]).strip(" .,!?;:")
        if number >= _MOST or not stands_in(quoted, comparison.known.text):
            yield Ungrounded("quotation", match[1])


def stands_in(part: str, text: str) -> bool:
    """Tell whether a part stands in a text as whole words."""
    place = text.find(part)
    if place < 0:
        return False
    before, after = text[place - 1 : place], text[place + len(part) : place + len(part) + 1]
    return not (before.isalnum() and part[:1].isalnum()) and not (after.isalnum() and part[-1:].isalnum())
