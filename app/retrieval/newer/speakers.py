"""Tells who speaks in a candidate: what stands before its first colon may be a name, or a label such as "Port"."""

from collections.abc import Sequence
from typing import Final

from app.retrieval.pool import Candidate
from app.statements.loaded import RULES

_ROLES = frozenset({"user", "assistant", "system", "tool", "bot", "ai"})
_MAX_NAME = 3
"""Words of a name."""
_MAX_READ = 400
_SPEECH: Final[frozenset[str]] = frozenset().union(*(pack.words["speech"] for pack in RULES.packs))


def speaker(candidate: Candidate) -> Sequence[str]:
    """Return the words of the name of who speaks; none where nobody is named, or only a label stands there."""
    if not candidate.speaker or '"speaker"' in candidate.metadata_json:
        return candidate.speaker
    label, _, said = candidate.content[:_MAX_READ].partition(":")
    words = label.split()
    if label.strip().lower() in _ROLES:
        return candidate.speaker
    named = len(words) <= _MAX_NAME and all(word[0].isupper() for word in words)
    return candidate.speaker if named and not _SPEECH.isdisjoint(said.lower().split()) else []


def text_without_speaker(candidate: Candidate, by: Sequence[str]) -> str:
    """Return what a candidate says, without the name of the speaker before it."""
    label, colon, rest = candidate.content.partition(":") if by else ("", "", "")
    return rest if colon and len(label.split()) == len(by) else candidate.content
