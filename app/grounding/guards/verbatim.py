"""Quotations, and placeholders such as a template's braces, stand in a source, word for word."""

import re
from collections.abc import Iterator

from app.domain.words import plain
from app.grounding.compared import GuardedStatement
from app.grounding.source import Ungrounded

_PLACEHOLDER = re.compile(
    r"\{[^{}\n]{0,60}\}|[{}]|<[^<>\n]{1,60}>|\[[A-Z_ ]{2,40}\]|%[sd](?!\w)|\$\w{0,40}\$|</?\w{1,40}"
)
_MOST = 16
"""Quotations of a statement that are searched for; every further quotation is rejected."""
_QUOTED = re.compile(
    '["\u201c\u201d\u201e\u00ab\u00bb]([^"\u201c\u201d\u201e\u00ab\u00bb]{1,2000})["\u201c\u201d\u201e\u00ab\u00bb]'
)


def placeholders(comparison: GuardedStatement) -> Iterator[Ungrounded]:
    """Yield the placeholders of a statement that no source has: the template was never filled in."""
    for match in _PLACEHOLDER.finditer(comparison.claim.text):
        if plain(match[0]) not in comparison.cited.text:
            yield Ungrounded("placeholder", match[0])


def quotations(comparison: GuardedStatement) -> Iterator[Ungrounded]:
    """Yield the quotations of a statement that no source has."""
    for number, match in enumerate(_QUOTED.finditer(comparison.claim.text)):
        quoted = plain(match[1]).strip(" .,!?;:")
        if number >= _MOST or not _stands_in(quoted, comparison.cited.text):
            yield Ungrounded("quotation", match[1])


def _stands_in(part: str, text: str) -> bool:
    """Tell whether a part stands in a text as whole words."""
    place = text.find(part)
    if place < 0:
        return False
    before, after = text[place - 1 : place], text[place + len(part) : place + len(part) + 1]
    return not (before.isalnum() and part[:1].isalnum()) and not (after.isalnum() and part[-1:].isalnum())
