"""A template's braces and the like stand in a source, or the statement was never filled in."""

import re
from collections.abc import Iterator

from app.grounding.known import Comparison
from app.grounding.source import Ungrounded
from app.language.clauses import plain

_PLACEHOLDER = re.compile(
    r"\{[^{}\n]{0,60}\}|[{}]|<[^<>\n]{1,60}>|\[[A-Z_ ]{2,40}\]|%[sd](?!\w)|\$\w{0,40}\$|</?\w{1,40}"
)


def placeholders(comparison: Comparison) -> Iterator[Ungrounded]:
    """Give the placeholders of a statement that no source has."""
    for match in _PLACEHOLDER.finditer(comparison.claim.text):
        if plain(match[0]) not in comparison.known.text:
            yield Ungrounded("placeholder", match[0])
